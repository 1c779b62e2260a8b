/** A scrolled list of which only what is in view is built. Rows may have any height, and change it. */
import {type ReadonlySignal, signal} from '@preact/signals';
import {Virtualizer, defaultRangeExtractor, elementScroll, observeElementOffset, observeElementRect, type Range} from '@tanstack/virtual-core';
import {Component, type ComponentChild, type ComponentChildren} from 'preact';
import {useEffect, useLayoutEffect, useMemo, useRef} from 'preact/hooks';
import {ErrorBoundary} from './error_boundary.tsx';

/** Pixels from the end within which a list that is kept at its end counts as being there. */
const END = 80;
/** Pixels under the last row; less than END, so that the end is the end. */
const PAD_END = 24;
/** A distance from the end that no list has: while it counts as the end, nothing is followed. */
const NEVER = -1;
const OVERSCAN = 4;
/** Screens from the start at which more is asked for. */
const NEAR = 2;

/** What the owner of a list can do with it. */
export interface ListHandle {
  /** Whether the end is in view, so that new rows are followed. */
  readonly atEnd: ReadonlySignal<boolean>;
  toEnd(): void;
  /** Bring a row into view; whether it is there. */
  toKey(key: string, align?: 'start' | 'center' | 'end'): boolean;
  /** The element that scrolls. */
  readonly element: HTMLElement | null;
}

export interface VirtualListProps<T> {
  readonly rows: readonly T[];
  /** A name that stays with the row, whatever comes before it. */
  readonly keyOf: (row: T, index: number) => string;
  readonly renderRow: (row: T, index: number) => ComponentChildren;
  /** The height of a row in pixels, roughly, until it is measured. */
  readonly estimate?: number | ((row: T, index: number) => number) | undefined;
  /** At which end the list opens, and stays while its rows change. */
  readonly anchor?: 'start' | 'end' | undefined;
  readonly label: string;
  readonly role?: 'feed' | 'list' | 'presentation' | undefined;
  readonly busy?: boolean | undefined;
  readonly class?: string | undefined;
  /** Called when the start comes near, again and again while it is. */
  readonly onNearStart?: (() => void) | undefined;
  readonly handle?: ((handle: ListHandle) => void) | undefined;
}

type Inner = Virtualizer<HTMLElement, HTMLElement>;

export function VirtualList<T>(props: VirtualListProps<T>) {
  const box = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const held = useRef(false);
  const atEnd = useMemo(() => signal(true), []);
  const tick = useMemo(() => signal(0), []);
  // By what the virtualizer knows: a row that has just grown counts before the element has been scrolled after it.
  const height = useRef(0);
  const look = (): void => {
    const before = height.current;
    height.current = box.current?.clientHeight ?? 0;
    // A keyboard that opens must not cover the end that somebody looks at.
    if (before && before !== height.current && atEnd.peek() && latest.current.anchor === 'end' && !held.current) virtualizer.scrollToEnd();
    else atEnd.value = virtualizer.isAtEnd(END);
  };
  const onScroll = (): void => {
    look();
    const element = box.current;
    if (element && element.scrollTop < element.clientHeight * NEAR) latest.current.onNearStart?.();
  };
  // The same function while the rows are the same: for another one every row is placed anew, at each scroll.
  const getItemKey = useMemo(() => (index: number) => props.keyOf(props.rows[index] as T, index), [props.rows]);
  const options = () => optionsOf(latest.current, getItemKey, box, held, () => {
    tick.value += 1;
  });
  const virtualizer = useMemo(() => new Virtualizer<HTMLElement, HTMLElement>(options()), []);
  void tick.value;
  const before = useRef(props.rows);
  const follows = props.anchor === 'end' && before.current !== props.rows && !held.current && virtualizer.scrollElement !== null && virtualizer.isAtEnd(END);
  // A scroll of this frame is not told yet, and would be lost where rows come in above.
  if (!follows && before.current !== props.rows && box.current) virtualizer.scrollOffset = box.current.scrollTop;
  // Before the items are asked for: a row that is appended later than this would be lost.
  virtualizer.setOptions(options());
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => {
    virtualizer._willUpdate();
    // The virtualizer follows what comes after the last row; rows also come before one that stays the last.
    if (follows) virtualizer.scrollToEnd();
    before.current = props.rows;
  });
  // After the paint, when measuring costs nothing.
  useEffect(() => look());
  useOpensAtEnd(virtualizer, props);
  useHold(box, held);
  useEffect(onScroll, [props.rows]);
  useEffect(() => {
    const observer = new ResizeObserver(look);
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => props.handle?.(handleOf(virtualizer, latest, box, atEnd)), []);
  const items = virtualizer.getVirtualItems();
  // A list or a feed of nothing is none.
  const named = props.rows.length ? {role: props.role ?? 'list', 'aria-busy': props.busy, 'aria-label': props.label} : {};
  return (
    <div ref={box} class={props.class ? `ui-list ${props.class}` : 'ui-list'} onScroll={onScroll} tabIndex={0} role="region" aria-label={props.label}>
      <div class="ui-list-rows" {...named} style={{height: `${virtualizer.getTotalSize()}px`}}>
        {items.map(item => {
          const row = props.rows[item.index];
          if (row === undefined) return null;
          return (
            <ListRow
              key={item.key as string}
              name={item.key as string}
              row={row}
              index={item.index}
              start={item.start}
              isItem={props.role === 'list' || props.role === undefined}
              renderRow={props.renderRow}
              virtualizer={virtualizer}
            />
          );
        })}
      </div>
    </div>
  );
}

interface ListRowProps<T> {
  readonly name: string;
  readonly row: T;
  readonly index: number;
  readonly start: number;
  readonly isItem: boolean;
  readonly renderRow: (row: T, index: number) => ComponentChildren;
  readonly virtualizer: Inner;
}

/** One row. Its content is drawn anew only for another row, not whenever the list scrolls or another row changes. */
class ListRow<T> extends Component<ListRowProps<T>> {
  private drawn: {readonly row: T; readonly renderRow: unknown; readonly content: ComponentChild} | undefined;

  override shouldComponentUpdate(next: ListRowProps<T>): boolean {
    const {row, index, start, renderRow, isItem} = this.props;
    return next.row !== row || next.index !== index || next.start !== start || next.renderRow !== renderRow || next.isItem !== isItem;
  }

  private readonly attach = (element: HTMLElement | null): void => this.props.virtualizer.measureElement(element);

  private content(): ComponentChild {
    const {row, index, renderRow} = this.props;
    if (this.drawn?.row !== row || this.drawn.renderRow !== renderRow) {
      this.drawn = {row, renderRow, content: <ErrorBoundary of={row}>{renderRow(row, index)}</ErrorBoundary>};
    }
    return this.drawn.content;
  }

  override render() {
    const {name, index, start, isItem} = this.props;
    return (
      <div class="ui-list-row" role={isItem ? 'listitem' : undefined} data-index={index} data-key={name} ref={this.attach} style={{transform: `translateY(${start}px)`}}>
        {this.content()}
      </div>
    );
  }
}

type Box = {readonly current: HTMLDivElement | null};

function optionsOf<T>(props: VirtualListProps<T>, getItemKey: (index: number) => string, box: Box, held: {current: boolean}, onChange: () => void) {
  const {rows, estimate = 60, anchor = 'start'} = props;
  const row = (index: number): T => rows[index] as T;
  const atEnd = anchor === 'end';
  return {
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: (index: number) => (typeof estimate === 'number' ? estimate : estimate(row(index), index)),
    getItemKey,
    rangeExtractor: (range: Range) => keepingUsed(range, box.current),
    overscan: OVERSCAN,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange,
    ...(atEnd ? {anchorTo: 'end' as const, followOnAppend: !held.current, scrollEndThreshold: held.current ? NEVER : END, paddingEnd: PAD_END} : {}),
  };
}

/** The rows in view, and those in which there is the focus or an end of the selection: these are never taken away. */
function keepingUsed(range: Range, box: HTMLElement | null): number[] {
  const shown = defaultRangeExtractor(range);
  if (!box) return shown;
  const selection = getSelection();
  const nodes = selection?.isCollapsed === false ? [document.activeElement, selection.anchorNode, selection.focusNode] : [document.activeElement];
  const used = nodes.map(node => rowIndex(node, box)).filter((index): index is number => index !== undefined && index < range.count);
  if (!used.length) return shown;
  return [...new Set([...shown, ...used])].toSorted((one, other) => one - other);
}

function rowIndex(node: Node | null, box: HTMLElement): number | undefined {
  if (!node || !box.contains(node)) return undefined;
  const element = node instanceof Element ? node : node.parentElement;
  const index = element?.closest<HTMLElement>('.ui-list-row')?.dataset['index'];
  return index === undefined ? undefined : Number(index);
}

/** Go to the end when the list gets its first rows. */
function useOpensAtEnd<T>(virtualizer: Inner, {rows, anchor}: VirtualListProps<T>): void {
  const isEmpty = rows.length === 0;
  useLayoutEffect(() => {
    if (anchor === 'end' && !isEmpty) virtualizer.scrollToEnd();
  }, [isEmpty]);
}

/** Do not follow what is appended while somebody selects or touches. */
function useHold(box: Box, held: {current: boolean}): void {
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    let touching = false;
    const update = (): void => {
      const selection = getSelection();
      held.current = touching || (selection?.isCollapsed === false && element.contains(selection.anchorNode));
    };
    const touch = (event: TouchEvent): void => {
      touching = event.touches.length > 0;
      update();
    };
    element.addEventListener('touchstart', touch, {passive: true});
    element.addEventListener('touchend', touch, {passive: true});
    element.addEventListener('touchcancel', touch, {passive: true});
    document.addEventListener('selectionchange', update);
    return () => {
      element.removeEventListener('touchstart', touch);
      element.removeEventListener('touchend', touch);
      element.removeEventListener('touchcancel', touch);
      document.removeEventListener('selectionchange', update);
    };
  }, []);
}

function handleOf<T>(virtualizer: Inner, latest: {current: VirtualListProps<T>}, box: Box, atEnd: ReadonlySignal<boolean>): ListHandle {
  return {
    atEnd,
    toEnd: () => virtualizer.scrollToEnd(),
    toKey: (key, align = 'start') => {
      const {rows, keyOf} = latest.current;
      const index = rows.findIndex((row, at) => keyOf(row, at) === key);
      if (index >= 0) virtualizer.scrollToIndex(index, {align});
      return index >= 0;
    },
    get element() {
      return box.current;
    },
  };
}
