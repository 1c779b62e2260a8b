/** The part of the settings about notifications. */
import './notify.css';
import {useSignal} from '@preact/signals';
import {useStore, type Store} from '../store/index.ts';
import {Button} from '../ui/button.tsx';
import {words} from '../words/index.ts';
import {mayNotify} from './browser.ts';
import {mayPush, pushFailure, subscribe, unsubscribe} from './push.ts';
import {type NotifySettings, notifySettings, setNotify} from './settings.ts';

/** Turn notifications on; the browser asks its user. Gives why it did not work. */
async function turnOn(store: Store): Promise<string | undefined> {
  if ((await Notification.requestPermission()) !== 'granted') return words.notify.denied;
  setNotify({isOn: true});
  await subscribe(store);
  return undefined;
}

export function NotificationSettings() {
  const store = useStore();
  const said = useSignal<string | undefined>(undefined);
  const may = mayNotify();
  const settings = notifySettings.value;
  const change = (next: Partial<NotifySettings>): void => {
    setNotify(next);
    void subscribe(store);
  };
  const toggle = async (): Promise<void> => {
    said.value = undefined;
    if (!settings.isOn) {
      said.value = await turnOn(store);
      return;
    }
    setNotify({isOn: false});
    await unsubscribe(store).catch(() => {});
  };
  return (
    <section class="notify-settings" aria-labelledby="notify-title">
      <h2 id="notify-title">{words.notify.title}</h2>
      <p class="notify-note">{words.notify.about}</p>
      {may === 'needsHttps' && <p class="notify-note">{words.link.plainHttp}</p>}
      {may === 'unsupported' && <p class="notify-note">{words.notify.unsupported}</p>}
      {may === 'denied' && <p class="notify-note">{words.notify.denied}</p>}
      {(may === 'yes' || may === 'ask') && (
        <>
          <p class="notify-state">
            <span>{settings.isOn ? words.notify.isOn : words.notify.isOff}</span>
            <Button kind={settings.isOn ? 'plain' : 'primary'} onClick={() => void toggle()}>{settings.isOn ? words.notify.turnOff : words.notify.turnOn}</Button>
          </p>
          {settings.isOn && <Choices settings={settings} change={change} canPush={mayPush(store)} />}
        </>
      )}
      {said.value !== undefined && <p class="notify-note" role="alert">{said.value}</p>}
    </section>
  );
}

function Choices({settings, change, canPush}: {settings: NotifySettings; change(next: Partial<NotifySettings>): void; canPush: boolean}) {
  return (
    <>
      <label class="notify-choice">
        <input type="checkbox" checked={settings.finished} onChange={event => change({finished: event.currentTarget.checked})} />
        {words.notify.finished}
      </label>
      <label class="notify-choice">
        <input type="checkbox" checked={settings.withText} onChange={event => change({withText: event.currentTarget.checked})} />
        {words.notify.withText}
      </label>
      {!canPush && <p class="notify-note">{words.notify.noPush}</p>}
      {canPush && pushFailure.value !== undefined && <p class="notify-note" role="alert">{words.notify.noPushBecause(pushFailure.value)}</p>}
    </>
  );
}
