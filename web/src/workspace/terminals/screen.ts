/** A terminal's screen: xterm, kept from doing what a program's output could misuse. */
import {FitAddon} from '@xterm/addon-fit';
import {WebLinksAddon} from '@xterm/addon-web-links';
import {type ITheme, Terminal} from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import type {TerminalState} from '../../ahp/index.ts';
import {Output} from './output.ts';
import type {Size} from './sizing.ts';
import {withoutStyleAttributes, withoutStyleElements} from './style_sheets.ts';

export interface ScreenEvents {
  /** Somebody has typed or pasted. */
  typed(data: string): void;
  /** This many characters fit into the box now. */
  fits(size: Size): void;
  /** Somebody wants out by the keyboard, for Tab belongs to the program. */
  leave(): void;
  /** A link was pressed; whether it is opened is for others to say. */
  link(address: string): void;
}

const SCROLLBACK = 5_000;
const FONT_SIZE = 13;
const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const;
// The host answers what programs ask their terminal. Answers of every window that looks on would be typed into the program.
const ASKING_CSI = [{final: 'c'}, {prefix: '>', final: 'c'}, {prefix: '=', final: 'c'}, {final: 'n'}, {prefix: '?', final: 'n'},
  {prefix: '>', final: 'q'}, {intermediates: '$', final: 'p'}, {prefix: '?', intermediates: '$', final: 'p'}];
const ASKING_OSC = [4, 10, 11, 12];

export class Screen {
  private readonly terminal: Terminal;
  private readonly fit = new FitAddon();
  private readonly output = new Output();
  private readonly ends: (() => void)[] = [];
  private latest: TerminalState | undefined;
  private isWriting = false;
  private isReplaying = false;

  constructor(box: HTMLElement, label: string, events: ScreenEvents) {
    this.terminal = new Terminal({
      scrollback: SCROLLBACK,
      fontSize: FONT_SIZE,
      fontFamily: token('--mono'),
      minimumContrastRatio: 4.5,
      cursorBlink: false,
      theme: theme(),
      linkHandler: {activate: (_, address) => events.link(address)},
    });
    this.terminal.loadAddon(this.fit);
    this.terminal.loadAddon(new WebLinksAddon((_, address) => events.link(address)));
    this.muteAnswers();
    this.terminal.onData(data => {
      if (!this.isReplaying) events.typed(data);
    });
    this.terminal.attachCustomKeyEventHandler(event => !this.isOurKey(event, events));
    withoutStyleElements(() => this.terminal.open(box));
    withoutStyleAttributes(this.terminal);
    this.terminal.textarea?.setAttribute('aria-label', label);
    this.follow(box, events);
  }

  /** Show a state; while xterm is busy only the latest one waits. */
  show(state: TerminalState): void {
    this.latest = state;
    if (!this.isWriting) this.write();
  }

  resize({cols, rows}: Size): void {
    if (cols !== this.terminal.cols || rows !== this.terminal.rows) this.terminal.resize(cols, rows);
  }

  /** Whether it takes what is typed. */
  set takesInput(does: boolean) {
    this.terminal.options.disableStdin = !does;
  }

  /** Whether a line's end alone begins the next line, as in plain output. */
  set isPlain(is: boolean) {
    this.terminal.options.convertEol = is;
  }

  get usesApplicationKeys(): boolean {
    return this.terminal.modes.applicationCursorKeysMode;
  }

  focus(): void {
    this.terminal.focus();
  }

  /** Go to the newest line. */
  toEnd(): void {
    this.terminal.scrollToBottom();
  }

  dispose(): void {
    for (const end of this.ends) end();
    this.terminal.dispose();
  }

  private write(): void {
    const state = this.latest;
    this.latest = undefined;
    const step = state && this.output.step(state);
    if (!step) return;
    this.isWriting = true;
    if (step.anew) {
      this.terminal.reset();
      this.isReplaying = true;
    }
    this.terminal.write(step.text, () => {
      this.isWriting = this.isReplaying = false;
      if (this.latest) this.write();
    });
  }

  /** Whether a key is the page's, and does something here, instead of the program's. */
  private isOurKey(event: KeyboardEvent, events: ScreenEvents): boolean {
    const isLeaving = event.key === 'Escape' && event.shiftKey;
    // Copies what is selected, once: the next one interrupts again.
    const isCopying = event.key === 'c' && event.ctrlKey && !event.altKey && this.terminal.hasSelection();
    if (event.type === 'keydown' && isLeaving) events.leave();
    if (event.type === 'keydown' && isCopying) setTimeout(() => this.terminal.clearSelection());
    return isLeaving || isCopying;
  }

  private muteAnswers(): void {
    const {parser} = this.terminal;
    for (const id of ASKING_CSI) parser.registerCsiHandler(id, () => true);
    for (const id of ASKING_OSC) parser.registerOscHandler(id, data => data.includes('?'));
    parser.registerDcsHandler({intermediates: '$', final: 'q'}, () => true);
  }

  // The box and the colours of the page may change at any time.
  private follow(box: HTMLElement, events: ScreenEvents): void {
    const sizes = new ResizeObserver(() => {
      const size = this.fit.proposeDimensions();
      if (size && size.cols > 1 && size.rows > 1) events.fits({cols: size.cols, rows: size.rows});
    });
    sizes.observe(box);
    const recolour = (): void => void (this.terminal.options.theme = theme());
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', recolour);
    const chosen = new MutationObserver(recolour);
    chosen.observe(document.documentElement, {attributeFilter: ['data-theme']});
    this.ends.push(() => sizes.disconnect(), () => dark.removeEventListener('change', recolour), () => chosen.disconnect());
  }
}

const token = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function theme(): ITheme {
  const colours = COLOURS.flatMap(name => [
    [name, token(`--ansi-${name}`)],
    [`bright${name[0]!.toUpperCase()}${name.slice(1)}`, token(`--ansi-bright-${name}`)],
  ]);
  return {
    ...Object.fromEntries(colours) as ITheme,
    background: token('--bg'), foreground: token('--text'), cursor: token('--text'), cursorAccent: token('--bg'),
    selectionBackground: `${token('--accent')}55`, scrollbarSliderBackground: `${token('--edge')}66`,
    scrollbarSliderHoverBackground: `${token('--edge')}99`, scrollbarSliderActiveBackground: token('--edge'),
  };
}
