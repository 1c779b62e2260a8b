/** A name or a text of somebody's file, short enough for its place, with nothing hidden in it. */
import {visible} from '../ui/visible.ts';

/** Cut first: the spelling of what would not be seen is longer than what it spells. */
export const short = (text: unknown, most = 120): string => {
  const whole = typeof text === 'string' ? text : '';
  return visible(whole.length > most ? `${whole.slice(0, most)}…` : whole);
};
