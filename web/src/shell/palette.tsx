/** The palette: one field that goes to sessions and chats and runs commands. */
import {signal} from '@preact/signals';
import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {useStore} from '../store/index.ts';
import {commands, shownKeys} from '../ui/commands.ts';
import {Sheet} from '../ui/sheet.tsx';
import {words} from '../words/index.ts';
import {type PaletteItem, found, paletteItems} from './palette_items.ts';

/** Whether the palette is open. */
export const paletteIsOpen = signal(false);

/** Put the focus into the room, where what had it before has gone with the last one. */
function focusLater(): void {
  requestAnimationFrame(() => {
    if (document.activeElement === document.body) document.getElementById('shell-main')?.focus();
  });
}

const close = (): void => void (paletteIsOpen.value = false);

export function Palette() {
  return paletteIsOpen.value ? <OpenPalette /> : null;
}

function OpenPalette() {
  const store = useStore();
  const [question, ask] = useState('');
  const [chosen, choose] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  const box = useRef<HTMLDivElement>(null);
  // As it was when opened: what is under the finger must not change.
  const items = useMemo(() => paletteItems(store.sessions.peek(), commands.peek()), []);
  const shown = useMemo(() => found(items, question), [items, question]);
  useEffect(() => field.current?.focus(), []);
  useEffect(() => box.current?.querySelector('[aria-selected="true"]')?.scrollIntoView?.({block: 'nearest'}), [chosen, shown]);
  const run = (item: PaletteItem | undefined): void => {
    if (!item) return;
    close();
    item.run();
    focusLater();
  };
  const key = (event: KeyboardEvent): void => {
    const count = Math.max(1, shown.length);
    if (event.key === 'ArrowDown') choose((chosen + 1) % count);
    else if (event.key === 'ArrowUp') choose((chosen - 1 + count) % count);
    else if (event.key === 'Enter' && !event.isComposing) run(shown[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <Sheet title={words.shell.palette.title} class="shell-palette" bare onClose={close}>
      <input
        ref={field}
        class="shell-palette-field"
        type="text"
        role="combobox"
        aria-label={words.shell.palette.placeholder}
        aria-expanded
        aria-controls="shell-palette-list"
        aria-activedescendant={shown.length ? `shell-palette-${chosen}` : undefined}
        autocomplete="off"
        spellcheck={false}
        placeholder={words.shell.palette.placeholder}
        value={question}
        onInput={event => {
          ask(event.currentTarget.value);
          choose(0);
        }}
        onKeyDown={key}
      />
      <div class="shell-palette-list" id="shell-palette-list" role="listbox" aria-label={words.shell.palette.title} ref={box}>
        {shown.map((item, index) => (
          <Item key={`${item.group} ${item.id}`} item={item} index={index} isFirst={item.group !== shown[index - 1]?.group} isChosen={index === chosen} run={() => run(item)} />
        ))}
      </div>
      {!shown.length && <p class="shell-palette-none" role="status">{words.shell.palette.none}</p>}
    </Sheet>
  );
}

function Item({item, index, isFirst, isChosen, run}: {item: PaletteItem; index: number; isFirst: boolean; isChosen: boolean; run: () => void}) {
  return (
    <>
      {isFirst && <div class="shell-palette-group" role="presentation">{item.group}</div>}
      <div id={`shell-palette-${index}`} class="shell-palette-item" role="option" aria-selected={isChosen} onClick={run}>
        <span class="shell-palette-words">{item.words}</span>
        <span class="shell-palette-about">{item.about}</span>
        {item.keys && <kbd>{shownKeys(item.keys)}</kbd>}
      </div>
    </>
  );
}
