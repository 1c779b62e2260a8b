/** Questions of several lines: each line to be read for itself, such as the commands that are asked about. */
import {words} from '../../words/index.ts';
import {Spelled} from '../exact_text.tsx';

/** The first line of a text, and what follows it. */
export function firstLine(text: string): {readonly line: string; readonly rest: string} {
  const whole = text.trim();
  const end = whole.indexOf('\n');
  return end < 0 ? {line: whole, rest: ''} : {line: whole.slice(0, end), rest: whole.slice(end + 1)};
}

/** Lines that are shown, and characters of one. */
const MOST_LINES = 200;
const MOST_CHARACTERS = 4000;

/** The lines of a text; exact ones in mono. Nothing of none. */
export function Lines({text, isExact}: {text: string; isExact: boolean}) {
  if (!text.trim()) return null;
  const lines = text.trim().split('\n');
  return (
    <div class={isExact ? 'cards-lines exact' : 'cards-lines'} tabIndex={0} role="group" aria-label={words.cards.whatIsAsked}>
      {lines.slice(0, MOST_LINES).map((line, index) => <p key={index}><Spelled text={line} most={MOST_CHARACTERS} /></p>)}
      {lines.length > MOST_LINES && <p class="cards-note">{words.cards.moreLines(lines.length - MOST_LINES)}</p>}
    </div>
  );
}
