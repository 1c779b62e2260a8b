/** A form made from a host's settings schema. */
import './forms.css';
import {useId} from 'preact/hooks';
import {ErrorBoundary} from '../ui/error_boundary.tsx';
import {visible} from '../ui/safe.tsx';
import {words} from '../words/index.ts';
import {ChoiceControl, ManyControl, NumberControl, SwitchControl, TextControl} from './controls.tsx';
import {DynamicControl} from './dynamic_control.tsx';
import {JsonControl} from './json_control.tsx';
import {ListControl} from './list_control.tsx';
import {type Choice, type Field, type Problem, type SettingsSchema, type Values, fieldsOf, problemOf, valueOf, withValue} from './schema.ts';

/** Looks up what a setting with changing choices can be. */
export type Complete = (property: string, query: string) => Promise<readonly Choice[]>;

export interface SchemaFormProps {
  readonly schema: SettingsSchema;
  readonly values: Values;
  /** Called with all values after each change of one. */
  readonly onChange: (values: Values, key: string) => void;
  readonly complete?: Complete | undefined;
  /** Whether settings that can only be read are left out. */
  readonly hideReadOnly?: boolean | undefined;
  /** Why nothing can be changed now. */
  readonly whyNot?: string | undefined;
}

export function SchemaForm({schema, values, onChange, complete, hideReadOnly, whyNot}: SchemaFormProps) {
  const fields = fieldsOf(schema).filter(field => !hideReadOnly || !field.readOnly);
  return (
    <div class="forms-form">
      {fields.map(field => (
        <ErrorBoundary key={field.key} of={field.kind}>
          <FieldRow
            field={field}
            value={valueOf(schema, values, field.key)}
            set={value => onChange(withValue(values, field.key, value), field.key)}
            complete={complete}
            whyNot={whyNot}
          />
        </ErrorBoundary>
      ))}
    </div>
  );
}

/** What every control of a field gets. */
export interface ControlProps<F = Field> {
  readonly field: F;
  readonly value: Values[string];
  readonly set: (value: Values[string]) => void;
  readonly complete?: Complete | undefined;
  /** The id of the control, which its label names. */
  readonly id: string;
  /** The ids of what describes it. */
  readonly describedBy: string | undefined;
  readonly isInvalid: boolean;
  readonly isFixed: boolean;
}

type FieldRowProps = Pick<ControlProps, 'field' | 'value' | 'set' | 'complete'> & {readonly whyNot?: string | undefined};

function FieldRow({field, value, set, complete, whyNot}: FieldRowProps) {
  const id = useId();
  const problem = problemOf(field, value);
  // An empty field that is needed is marked as such, and called wrong only by its form.
  const isTold = problem !== undefined && problem.why !== 'missing' && field.kind !== 'group';
  const described = [field.description && `${id}-about`, isTold && `${id}-problem`].filter(Boolean).join(' ');
  const props: ControlProps = {
    field, value, set, complete, id,
    describedBy: described || undefined,
    isInvalid: isTold,
    isFixed: field.readOnly || whyNot !== undefined,
  };
  const isSet = field.kind === 'group' || field.kind === 'many' || field.kind === 'list';
  const title = (
    <>
      {visible(field.title)}
      {field.required && <span class="forms-required"> ({words.forms.required})</span>}
    </>
  );
  return (
    <div class={`forms-field ${field.kind}`} title={whyNot}>
      {isSet ? <span class="forms-label" id={`${id}-label`}>{title}</span> : <label class="forms-label" for={id}>{title}</label>}
      <Control {...props} />
      {field.description && <p class="forms-about" id={`${id}-about`}>{visible(field.description)}</p>}
      {field.readOnly && field.kind !== 'group' && <p class="forms-about">{words.forms.readOnly}</p>}
      {isTold && <p class="forms-problem" id={`${id}-problem`}>{problemText(problem)}</p>}
    </div>
  );
}

function Control(props: ControlProps) {
  const {field} = props;
  switch (field.kind) {
    case 'text': return <TextControl {...props} />;
    case 'number': return <NumberControl {...props} />;
    case 'switch': return <SwitchControl {...props} />;
    case 'choice': return <ChoiceControl {...props} field={field} />;
    case 'dynamic': return <DynamicControl {...props} field={field} />;
    case 'many': return <ManyControl {...props} field={field} />;
    case 'list': return <ListControl {...props} field={field} />;
    case 'group': return <Group {...props} field={field} />;
    case 'json': return <JsonControl {...props} />;
  }
}

function Group({field, value, set, complete, id, isFixed}: ControlProps<Field & {kind: 'group'}>) {
  const inner: Values = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
  return (
    <div class="forms-group" role="group" aria-labelledby={`${id}-label`}>
      {field.fields.map(each => (
        <FieldRow
          key={each.key}
          field={isFixed ? {...each, readOnly: true} : each}
          value={Object.hasOwn(inner, each.key) ? inner[each.key] : each.fallback}
          set={given => set(withValue(inner, each.key, given))}
          complete={complete}
        />
      ))}
    </div>
  );
}

/** A problem in words. */
export function problemText(problem: Problem): string {
  const texts = words.forms.problems;
  return problem.why === 'tooFew' || problem.why === 'tooMany' ? texts[problem.why](problem.limit) : texts[problem.why];
}
