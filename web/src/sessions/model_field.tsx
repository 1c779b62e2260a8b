/** The model to ask for, with the options that it has. */
import {useId} from 'preact/hooks';
import type {ModelSelection, SessionModelInfo} from '../ahp/index.ts';
import {SchemaForm} from '../forms/form.tsx';
import {sendable} from '../forms/schema.ts';
import {visible} from '../ui/safe.tsx';
import {words} from '../words/index.ts';

export interface ModelFieldProps {
  readonly models: readonly SessionModelInfo[];
  readonly model: ModelSelection | undefined;
  readonly onChange: (model: ModelSelection | undefined) => void;
}

export function ModelField({models, model, onChange}: ModelFieldProps) {
  const id = useId();
  if (!models.length) return null;
  const info = models.find(one => one.id === model?.id);
  const schema = info?.configSchema;
  return (
    <>
      <div class="forms-field">
        <label class="forms-label" for={id}>{words.sessions.new.model}</label>
        <select id={id} class="forms-input" value={model?.id ?? ''} onChange={event => onChange(event.currentTarget.value ? {id: event.currentTarget.value} : undefined)}>
          <option value="">{words.sessions.new.defaultModel}</option>
          {models.map(one => (
            <option key={one.id} value={one.id} disabled={one.policyState === 'disabled'}>
              {visible(one.name || one.id)}
              {one.policyState === 'disabled' && ` (${words.sessions.new.modelOff})`}
            </option>
          ))}
        </select>
      </div>
      {model && schema && (
        <SchemaForm
          schema={schema}
          values={model.config ?? {}}
          hideReadOnly
          onChange={config => onChange({id: model.id, config: sendable(schema, config)})}
        />
      )}
    </>
  );
}
