/** A button that nobody presses by accident: dead for half a second after it appears or moves, and never focused by the page. */
import {useEffect, useRef, useState} from 'preact/hooks';
import {ActButton, type ButtonProps} from './button.tsx';

/** Milliseconds within which a press was meant for what was there before. */
export const GUARD = 500;

/** Whether two boxes are at one place; scrolling by less than a pixel is none. */
const isNear = (one: DOMRect, other: DOMRect): boolean =>
  Math.abs(one.top - other.top) < 1 && Math.abs(one.left - other.left) < 1 && Math.abs(one.width - other.width) < 1;

/** Tells since when an element has been where it is, looking once per frame while it is in view. */
function useSettled(): {ref: {current: HTMLSpanElement | null}; isDead: boolean; isSettled(): boolean} {
  const ref = useRef<HTMLSpanElement>(null);
  const since = useRef(performance.now());
  const [isDead, setDead] = useState(true);
  useEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    let box = element.getBoundingClientRect();
    let frame = 0;
    const moved = (): void => {
      since.current = performance.now();
      setDead(true);
    };
    const look = (): void => {
      const now = element.getBoundingClientRect();
      if (!isNear(box, now)) moved();
      else if (performance.now() - since.current >= GUARD) setDead(false);
      box = now;
      frame = requestAnimationFrame(look);
    };
    const watch = new IntersectionObserver(([entry]) => {
      cancelAnimationFrame(frame);
      moved();
      if (entry?.isIntersecting) look();
    });
    moved();
    watch.observe(element);
    return () => {
      watch.disconnect();
      cancelAnimationFrame(frame);
    };
  }, []);
  return {ref, isDead, isSettled: () => performance.now() - since.current >= GUARD};
}

/** A guarded button that acts on the host. */
export function Guarded({onClick, ...rest}: ButtonProps) {
  const {ref, isDead, isSettled} = useSettled();
  const click = (event: MouseEvent): void => {
    if (isSettled()) onClick?.(event);
    else event.preventDefault();
  };
  return (
    <span class="ui-guarded" ref={ref}>
      <ActButton {...rest} isDead={isDead} onClick={click} />
    </span>
  );
}
