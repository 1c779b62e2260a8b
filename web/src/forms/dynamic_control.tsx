/** A text whose choices the host looks up while one types. */
import {useEffect, useId, useRef, useState} from 'preact/hooks';
import {Popover} from '../ui/popover.tsx';
import {visible} from '../ui/safe.tsx';
import {words} from '../words/index.ts';
import {native} from './controls.tsx';
import type {ControlProps} from './form.tsx';
import type {Choice, Field} from './schema.ts';

// Milliseconds without a key after which the host is asked.
const PAUSE = 150;
const MOST = 50;

export function DynamicControl(props: ControlProps<Field & {kind: 'dynamic'}>) {
  const {field, value, set, complete, isFixed} = props;
  const box = useRef<HTMLInputElement>(null);
  const listId = useId();
  // What is being typed; nothing while the field only shows its value.
  const [typed, setTyped] = useState<string>();
  const [at, setAt] = useState(0);
  const {choices: found, isLooking} = useChoices(field, typed, complete);
  // What was chosen can be taken back, where nothing has to be.
  const choices = !field.required && value && typed === '' ? [{value: '', label: words.forms.none, description: undefined}, ...found] : found;
  const isOpen = typed !== undefined && !isFixed;
  const shown = typed ?? labelOf(field.choices, value);
  const choose = (choice: Choice | undefined): void => {
    if (choice) set(choice.value);
    setTyped(undefined);
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      if (typed === undefined) setTyped('');
      else setAt(Math.min(choices.length - 1, Math.max(0, at + (event.key === 'ArrowDown' ? 1 : -1))));
    } else if (event.key === 'Enter' && isOpen) {
      event.preventDefault();
      choose(choices[at]);
    }
  };
  // Leaving takes what was typed as it is: the host says whether that can be.
  const leave = (): void => {
    if (typed?.trim()) set(typed.trim());
    setTyped(undefined);
  };
  return (
    <>
      <input
        {...native(props)}
        ref={box}
        class="forms-input"
        role="combobox"
        aria-expanded={isOpen}
        aria-controls={listId}
        aria-activedescendant={isOpen && choices[at] ? `${listId}-${at}` : undefined}
        autocomplete="off"
        spellcheck={false}
        value={shown}
        onClick={() => setTyped(typed ?? '')}
        onInput={event => {
          setTyped(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={press}
        onBlur={leave}
      />
      {isOpen && (
        <Popover anchor={box} id={listId} role="listbox" label={visible(field.title)} keepFocus onClose={() => setTyped(undefined)}>
          {choices.slice(0, MOST).map((choice, index) => (
            <div
              key={index}
              id={`${listId}-${index}`}
              class="forms-option"
              role="option"
              aria-selected={index === at}
              // Before the field loses the focus, which would take what was typed.
              onPointerDown={event => {
                event.preventDefault();
                choose(choice);
              }}
            >
              {visible(choice.label)}
              {choice.description && <span class="forms-about"> {visible(choice.description)}</span>}
            </div>
          ))}
          {!choices.length && <p class="forms-about forms-none">{isLooking ? words.forms.looking : words.forms.noMatches}</p>}
        </Popover>
      )}
    </>
  );
}

function labelOf(choices: readonly Choice[], value: unknown): string {
  return choices.find(choice => choice.value === value)?.label ?? String(value ?? '');
}

const matches = ({label, value}: Choice, typed: string): boolean => `${label} ${value}`.toLowerCase().includes(typed.trim().toLowerCase());

/** The choices for what is typed: the host's, or until it answers those that the schema lists. */
function useChoices(field: Field & {kind: 'dynamic'}, typed: string | undefined, complete: ControlProps['complete']): {choices: readonly Choice[]; isLooking: boolean} {
  const [found, setFound] = useState<{query: string; choices: readonly Choice[]}>();
  useEffect(() => {
    if (typed === undefined || !complete) return undefined;
    let isCurrent = true;
    const timer = setTimeout(() => {
      complete(field.key, typed).then(
        choices => isCurrent && setFound({query: typed, choices}),
        () => isCurrent && setFound({query: typed, choices: []}),
      );
    }, PAUSE);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [typed, field.key, complete]);
  if (!complete) return {choices: field.choices.filter(choice => matches(choice, typed ?? '')), isLooking: false};
  const isAnswered = found?.query === typed;
  return {choices: isAnswered && found ? found.choices : field.choices, isLooking: !isAnswered};
}
