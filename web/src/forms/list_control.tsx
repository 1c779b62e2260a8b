/** A list of texts or numbers, one field each. */
import {Plus, X} from 'lucide';
import {Button} from '../ui/button.tsx';
import {visible} from '../ui/safe.tsx';
import {words} from '../words/index.ts';
import {numberOf} from './controls.tsx';
import type {ControlProps} from './form.tsx';
import type {Field} from './schema.ts';

export function ListControl({field, value, set, id, describedBy, isFixed}: ControlProps<Field & {kind: 'list'}>) {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  const title = visible(field.title);
  const change = (index: number, text: string): void => set(items.with(index, field.item === 'number' ? (numberOf(text) ?? '') : text));
  return (
    <div class="forms-list" role="group" aria-labelledby={`${id}-label`} aria-describedby={describedBy}>
      {items.map((item, index) => (
        <div class="forms-item" key={index}>
          <input
            class="forms-input"
            type="text"
            inputMode={field.item === 'number' ? 'decimal' : 'text'}
            aria-label={words.forms.item(title, index + 1)}
            value={String(item ?? '')}
            disabled={isFixed}
            onInput={event => change(index, event.currentTarget.value)}
          />
          {!isFixed && (
            <Button kind="quiet" icon={X} label={words.forms.removeItem(title, index + 1)} onClick={() => set(items.filter((_, at) => at !== index))} />
          )}
        </div>
      ))}
      {!isFixed && items.length < field.most && (
        <Button icon={Plus} label={words.forms.addItem(title)} onClick={() => set([...items, ''])}>{words.forms.add}</Button>
      )}
    </div>
  );
}
