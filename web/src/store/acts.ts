/** What was done to the host, and what became of it. */
import {signal} from '@preact/signals';
import type {Outcome} from '../ahp/index.ts';
import type {Act} from './index.ts';

type Phase = Act['phase']['value'];

const PHASES: Record<'rejected' | 'notSent' | 'uncertain', Phase> = {rejected: 'refused', notSent: 'notSent', uncertain: 'uncertain'};

/** An act that is pending until its outcome is known; it ends with the frame that shows the outcome's effect. */
export function acted(outcome: Promise<Outcome>, schedule: (job: () => void) => void): Act {
  const phase = signal<Phase>('pending');
  const text = signal('');
  void outcome.then(end => schedule(() => {
    phase.value = end.ok ? 'done' : PHASES[end.why];
    text.value = end.ok ? '' : end.text;
  }));
  return {phase, text};
}

/** An act that was not even tried. */
export const notSent = (text: string): Act => ({phase: signal<Phase>('notSent'), text: signal(text)});
