/** The whole card of a call that waits, whatever the width. */
import type {ToolCallState} from '../ahp/index.ts';
import type {CallRef} from '../ui/registry.tsx';
import {ApprovalCard} from './approval_card.tsx';
import {AuthCard} from './auth_card.tsx';
import {ResultCard} from './result_card.tsx';

export function callViewOf(call: ToolCallState, at: CallRef) {
  switch (call.status) {
    case 'pending-confirmation': return <ApprovalCard call={call} at={at} />;
    case 'pending-result-confirmation': return <ResultCard call={call} at={at} />;
    case 'auth-required': return <AuthCard call={call} at={at} />;
    default: return null;
  }
}
