/** A value for which the form has no better control, as JSON. */
import {useState} from 'preact/hooks';
import {words} from '../words/index.ts';
import {native} from './controls.tsx';
import type {ControlProps} from './form.tsx';
import {NotJson, parsedJson} from './schema.ts';

const textOf = (value: unknown): string => (value instanceof NotJson ? value.text : value === undefined ? '' : JSON.stringify(value, null, 2));

export function JsonControl(props: ControlProps) {
  const {value, set} = props;
  // The spelling is the writer's, until the value becomes another.
  const [typed, setTyped] = useState<{text: string; value: unknown}>();
  const text = typed && typed.value === value ? typed.text : textOf(value);
  const type = (given: string): void => {
    const parsed = parsedJson(given);
    setTyped({text: given, value: parsed});
    set(parsed);
  };
  return (
    <textarea
      class="forms-input forms-json"
      rows={Math.min(10, Math.max(2, text.split('\n').length))}
      spellcheck={false}
      placeholder={words.forms.json}
      value={text}
      onInput={event => type(event.currentTarget.value)}
      {...native(props)}
    />
  );
}
