/** The plain controls of a form: text, number, switch, one choice, many choices. */
import {useState} from 'preact/hooks';
import {visible} from '../ui/safe.tsx';
import {words} from '../words/index.ts';
import type {ControlProps} from './form.tsx';
import type {Choice, Field} from './schema.ts';

/** Attributes that all native controls share. */
export const native = ({id, describedBy, isInvalid, isFixed, field}: ControlProps) => ({
  id,
  'aria-describedby': describedBy,
  'aria-invalid': isInvalid || undefined,
  'aria-required': field.required || undefined,
  disabled: isFixed,
});

export function TextControl(props: ControlProps) {
  const {value, set} = props;
  const text = value === undefined || value === null ? '' : String(value);
  if (text.includes('\n')) {
    return <textarea class="forms-input" rows={4} value={text} onInput={event => set(event.currentTarget.value)} {...native(props)} />;
  }
  return <input class="forms-input" type="text" value={text} spellcheck={false} onInput={event => set(event.currentTarget.value)} {...native(props)} />;
}

/** The number of a text; the text itself where it is none, so that it can be put right. */
export const numberOf = (text: string): number | string | undefined => {
  if (!text.trim()) return undefined;
  const number = Number(text);
  return Number.isFinite(number) ? number : text;
};

export function NumberControl(props: ControlProps) {
  const {value, set} = props;
  const [typed, setTyped] = useState<string>();
  // What is being typed may be spelled otherwise than the number that it means: "1." or "1e3".
  const shown = typed !== undefined && numberOf(typed) === value ? typed : String(value ?? '');
  const type = (text: string): void => {
    setTyped(text);
    set(numberOf(text));
  };
  return <input class="forms-input forms-number" type="text" inputMode="decimal" value={shown} onInput={event => type(event.currentTarget.value)} {...native(props)} />;
}

export function SwitchControl(props: ControlProps) {
  return <input class="forms-switch" type="checkbox" role="switch" checked={props.value === true} onChange={event => props.set(event.currentTarget.checked)} {...native(props)} />;
}

export function ChoiceControl(props: ControlProps<Field & {kind: 'choice'}>) {
  const {field, value, set} = props;
  const index = field.choices.findIndex(choice => choice.value === value);
  const chosen = field.choices[index];
  return (
    <>
      <select class="forms-input" value={String(index)} onChange={event => set(field.choices[Number(event.currentTarget.value)]?.value)} {...native(props)}>
        {index < 0 && <option value="-1">{value === undefined ? words.forms.choose : visible(String(value))}</option>}
        {!field.required && index >= 0 && field.fallback === undefined && <option value="-2">{words.forms.none}</option>}
        {field.choices.map((choice, at) => <option key={at} value={String(at)}>{visible(choice.label)}</option>)}
      </select>
      {chosen?.description && <p class="forms-about">{visible(chosen.description)}</p>}
    </>
  );
}

export function ManyControl({field, value, set, id, describedBy, isFixed}: ControlProps<Field & {kind: 'many'}>) {
  const chosen: readonly unknown[] = Array.isArray(value) ? value : [];
  const toggle = (choice: Choice, isOn: boolean): void => {
    // In the schema's order, whichever was ticked first.
    set(field.choices.map(each => each.value).filter(each => (each === choice.value ? isOn : chosen.includes(each))));
  };
  return (
    <div class="forms-many" role="group" aria-labelledby={`${id}-label`} aria-describedby={describedBy}>
      {field.choices.map((choice, index) => (
        <label key={index} class="forms-tick">
          <input type="checkbox" checked={chosen.includes(choice.value)} disabled={isFixed} onChange={event => toggle(choice, event.currentTarget.checked)} />
          <span>
            {visible(choice.label)}
            {choice.description && <span class="forms-about"> {visible(choice.description)}</span>}
          </span>
        </label>
      ))}
    </div>
  );
}
