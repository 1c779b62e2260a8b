/** Text that is shown exactly: nothing hidden, nothing turned around, and long text cut only until asked for. */
import {useSignal} from '@preact/signals';
import {Button} from '../ui/button.tsx';
import {visible} from '../ui/safe.tsx';
import {words} from '../words/index.ts';

/** Lines and characters that are shown at first, and characters that are shown at all. */
const FIRST_LINES = 40;
const FIRST_CHARACTERS = 4000;
const MOST_CHARACTERS = 200_000;

const SPELLED = /(⟨U\+[0-9A-F]{4,6}⟩)/;

/** The beginning of a text, and what it lacks. */
export function beginning(text: string): {shown: string; lines: number; isWhole: boolean} {
  const lines = text.split('\n');
  const shown = lines.slice(0, FIRST_LINES).join('\n').slice(0, FIRST_CHARACTERS);
  return {shown, lines: lines.length, isWhole: shown.length === text.length};
}

/** A text in mono, with invisible and bidi characters spelled out. */
export function ExactText({text, label}: {text: string; label?: string}) {
  const isOpen = useSignal(false);
  const {shown, lines, isWhole} = beginning(text);
  const all = text.slice(0, MOST_CHARACTERS);
  const more = lines > FIRST_LINES ? words.cards.showAll(lines) : words.cards.showAllCharacters(text.length);
  return (
    <div class="cards-exact">
      <pre class="cards-exact-text" tabIndex={0} role="group" aria-label={label ?? words.cards.input}>
        <Spelled text={isOpen.value ? all : shown} most={MOST_CHARACTERS} />
      </pre>
      {isOpen.value && all.length < text.length && <p class="cards-note">{words.cards.cutOff(text.length - all.length)}</p>}
      {!isWhole && (
        <Button kind="quiet" expanded={isOpen.value} onClick={() => void (isOpen.value = !isOpen.value)}>
          {isOpen.value ? words.cards.showLess : more}
        </Button>
      )}
    </div>
  );
}

/** Characters of a text that is no input: longer ones are told to be. */
const MOST_SAID = 20_000;

/** Text in a line, with what would not be seen spelled out and marked, and cut where nobody reads on. */
export function Spelled({text, most = MOST_SAID}: {text: string; most?: number}) {
  const pieces = visible(text.length > most ? `${text.slice(0, most)}…` : text).split(SPELLED);
  if (pieces.length === 1) return <>{pieces[0]}</>;
  return <>{pieces.map((piece, index) => (index % 2 ? <mark class="cards-hidden" key={index}>{piece}</mark> : piece))}</>;
}
