/** Sizes of the panes, and which of them are open; kept on this device. */
import {computed, effect, signal} from '@preact/signals';
import {remember, remembered} from '../store/device.ts';
import {width} from '../ui/width.ts';

export const LIST_LEAST = 240;
export const LIST_MOST = 400;
export const PANEL_LEAST = 320;
/** The most of the page that the workspace takes, in parts of it. */
const PANEL_SHARE = 0.6;

interface Sizes {
  readonly list: number;
  readonly panel: number;
}

const FIRST: Sizes = {list: 300, panel: 480};

/** The sizes in what was remembered; those at first if it is none. */
export function sizesIn(text: string | undefined): Sizes {
  try {
    const kept = JSON.parse(text ?? '{}') as Partial<Record<keyof Sizes, unknown>>;
    const size = (name: keyof Sizes): number => (typeof kept[name] === 'number' && Number.isFinite(kept[name]) ? kept[name] : FIRST[name]);
    return {list: within(size('list'), LIST_LEAST, LIST_MOST), panel: Math.max(PANEL_LEAST, size('panel'))};
  } catch {
    return FIRST;
  }
}

/** The number, or the nearest of what is allowed. */
export function within(value: number, least: number, most: number): number {
  return Math.round(Math.min(Math.max(value, least), Math.max(least, most)));
}

const sizes = signal(sizesIn(remembered('panes')));
effect(() => remember('panes', JSON.stringify(sizes.value)));

const pageWidth = signal(globalThis.innerWidth || 1440);
globalThis.addEventListener?.('resize', () => void (pageWidth.value = innerWidth));

/** The most that the workspace may be wide now. */
export const panelMost = computed(() => Math.max(PANEL_LEAST, Math.floor(pageWidth.value * PANEL_SHARE)));
export const listWidth = computed(() => sizes.value.list);
export const panelWidth = computed(() => within(sizes.value.panel, PANEL_LEAST, panelMost.value));

export const setListWidth = (list: number): void => void (sizes.value = {...sizes.peek(), list: within(list, LIST_LEAST, LIST_MOST)});
export const setPanelWidth = (panel: number): void => void (sizes.value = {...sizes.peek(), panel: within(panel, PANEL_LEAST, panelMost.peek())});

/** Whether the list stands beside the chat on a wide page. */
export const listIsBeside = signal(true);
/** Whether the list lies over the page as a drawer. */
export const drawerIsOpen = signal(false);

/** Whether the list is in view beside the rest. */
export const listIsShown = computed(() => width.value === 'wide' && listIsBeside.value);

/** Show or hide the list, as a pane or as a drawer. */
export function toggleList(): void {
  if (width.peek() === 'wide') listIsBeside.value = !listIsBeside.peek();
  else drawerIsOpen.value = !drawerIsOpen.peek();
}
