/** The height of what is in view: above the keyboard of a phone, which the page's own height does not know. */
import {useEffect} from 'preact/hooks';

/** Keep `--moving-height` and `--moving-top` at the visual viewport. */
export function useVisibleHeight(): void {
  useEffect(() => {
    const view = globalThis.visualViewport;
    if (!view) return undefined;
    const root = document.documentElement;
    const measure = (): void => {
      // A page that is zoomed in is moved around by its reader; then the layout stays.
      if (view.scale > 1.01) return;
      root.style.setProperty('--moving-height', `${Math.round(view.height)}px`);
      root.style.setProperty('--moving-top', `${Math.round(view.offsetTop)}px`);
    };
    measure();
    view.addEventListener('resize', measure);
    view.addEventListener('scroll', measure);
    return () => {
      view.removeEventListener('resize', measure);
      view.removeEventListener('scroll', measure);
    };
  }, []);
}
