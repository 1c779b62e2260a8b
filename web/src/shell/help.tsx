/** The keys of the page, made from the same commands that they run. */
import {effect, signal} from '@preact/signals';
import {remember, remembered} from '../store/device.ts';
import {type Command, bareKeys, commands, shownKeys} from '../ui/commands.ts';
import {Sheet} from '../ui/sheet.tsx';
import {words} from '../words/index.ts';

/** Whether the keys are shown. */
export const helpIsOpen = signal(false);

if (remembered('keys') === 'off') bareKeys.value = false;
effect(() => remember('keys', bareKeys.value ? undefined : 'off'));

/** The commands that have keys, under their headings, what works everywhere first. */
export function groups(all: readonly Command[]): [group: string, commands: Command[]][] {
  // What works everywhere comes first, whichever room was there first.
  const found = new Map<string, Command[]>([[words.shell.commands.group, []]]);
  for (const each of all.filter(one => one.keys?.length)) {
    const group = each.group ?? words.shell.commands.group;
    found.set(group, [...(found.get(group) ?? []), each]);
  }
  return [...found];
}

export function Help() {
  if (!helpIsOpen.value) return null;
  return (
    <Sheet title={words.shell.help.title} class="shell-help" onClose={() => void (helpIsOpen.value = false)}>
      {groups(commands.value).map(([group, inside]) => (
        <section key={group}>
          <h3>{group}</h3>
          <dl>
            {inside.map(each => (
              <div key={each.id}>
                <dt>{each.words}</dt>
                <dd>{each.keys?.map(keys => <kbd key={keys}>{shownKeys(keys)}</kbd>)}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <label class="shell-help-bare">
        <input type="checkbox" checked={bareKeys.value} onChange={event => void (bareKeys.value = event.currentTarget.checked)} />
        {words.shell.help.bareKeys}
      </label>
      <p class="shell-note">{words.shell.help.bare}</p>
    </Sheet>
  );
}
