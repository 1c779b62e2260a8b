/** Registers the cards: approvals, reviews of results, questions and sign-ins. */
import {callViews, partViews, questionViews} from '../ui/registry.tsx';
import {ApprovalRow} from './approval_card.tsx';
import {AuthRow} from './auth_card.tsx';
import {ErrorPart} from './error_part.tsx';
import {ChoiceField, NumberField, TextField, YesNoField} from './questions/fields.tsx';
import {RequestPart} from './questions/request.tsx';
import {ResultRow} from './result_card.tsx';

callViews.set('pending-confirmation', ApprovalRow);
callViews.set('pending-result-confirmation', ResultRow);
callViews.set('auth-required', AuthRow);

partViews.set('inputRequest', RequestPart);
partViews.set('error', ErrorPart);

questionViews.set('text', TextField);
questionViews.set('number', NumberField);
questionViews.set('integer', NumberField);
questionViews.set('boolean', YesNoField);
questionViews.set('single-select', ChoiceField);
questionViews.set('multi-select', ChoiceField);
