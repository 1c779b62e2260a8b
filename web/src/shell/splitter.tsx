/** The line between two panes: dragged, or moved by the arrow keys. */
import {within} from './panes.ts';

/** Pixels per press of an arrow key. */
const STEP = 16;

export interface SplitterProps {
  readonly label: string;
  readonly value: number;
  readonly least: number;
  readonly most: number;
  /** On which side of it the pane is whose width it sets. */
  readonly pane: 'left' | 'right';
  readonly onChange: (value: number) => void;
}

export function Splitter({label, value, least, most, pane, onChange}: SplitterProps) {
  const sign = pane === 'left' ? 1 : -1;
  const press = (event: PointerEvent): void => {
    if (event.button) return;
    event.preventDefault();
    const line = event.currentTarget as HTMLElement;
    const from = event.clientX;
    line.setPointerCapture(event.pointerId);
    const move = (to: PointerEvent): void => onChange(within(value + sign * (to.clientX - from), least, most));
    const end = (): void => {
      line.removeEventListener('pointermove', move);
      line.removeEventListener('pointerup', end);
      line.removeEventListener('pointercancel', end);
    };
    line.addEventListener('pointermove', move);
    line.addEventListener('pointerup', end);
    line.addEventListener('pointercancel', end);
  };
  const key = (event: KeyboardEvent): void => {
    const to = {ArrowLeft: value - sign * STEP, ArrowRight: value + sign * STEP, Home: least, End: most}[event.key];
    if (to === undefined) return;
    event.preventDefault();
    onChange(within(to, least, most));
  };
  return (
    <div
      class={`shell-splitter ${pane}`}
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={value}
      aria-valuemin={least}
      aria-valuemax={most}
      tabIndex={0}
      onPointerDown={press}
      onKeyDown={key}
    />
  );
}
