/** Settings that this browser keeps for itself, and signing out of it. */
import {useId, useState} from 'preact/hooks';
import {remember, remembered} from '../store/device.ts';
import {useStore} from '../store/index.ts';
import {Button} from '../ui/button.tsx';
import {bareKeys} from '../ui/commands.ts';
import {visible} from '../ui/safe.tsx';
import {Sheet} from '../ui/sheet.tsx';
import {THEMES, theme} from '../ui/theme.ts';
import {words} from '../words/index.ts';

const MOST_NAME = 60;

export function DeviceSettings() {
  const id = useId();
  const texts = words.settings.device;
  const [name, setName] = useState(remembered('name') ?? '');
  const rename = (text: string): void => {
    setName(text);
    remember('name', text.trim() || undefined);
  };
  return (
    <div class="forms-form">
      <fieldset class="settings-set">
        <legend>{texts.theme}</legend>
        {THEMES.map(each => (
          <label key={each} class="forms-tick">
            <input type="radio" name={`${id}-theme`} checked={theme.value === each} onChange={() => void (theme.value = each)} />
            {words.shell.themes[each]}
          </label>
        ))}
      </fieldset>
      <div class="forms-field">
        <label class="forms-label" for={id}>{texts.name}</label>
        <input id={id} class="forms-input" maxLength={MOST_NAME} value={name} aria-describedby={`${id}-name`} onInput={event => rename(event.currentTarget.value)} />
        <p class="forms-about" id={`${id}-name`}>{texts.nameHint}</p>
      </div>
      <label class="forms-tick">
        <input type="checkbox" checked={bareKeys.value} onChange={event => void (bareKeys.value = event.currentTarget.checked)} />
        <span>
          {texts.keys}
          <span class="forms-about settings-hint">{texts.keysHint}</span>
        </span>
      </label>
      <SignOut />
    </div>
  );
}

function SignOut() {
  const store = useStore();
  const texts = words.settings.device;
  const [isAsking, setAsking] = useState(false);
  const me = store.me.value;
  return (
    <div class="settings-sign-out">
      {me && <p>{texts.signedInAs(visible(me.name), words.settings.roles[me.role])}</p>}
      <Button onClick={() => setAsking(true)} popup="dialog">{texts.signOut}</Button>
      {isAsking && (
        <Sheet
          title={texts.signOutTitle}
          onClose={() => setAsking(false)}
          actions={
            <>
              <Button onClick={() => setAsking(false)}>{words.shell.cancel}</Button>
              <Button
                kind="danger"
                onClick={() => {
                  setAsking(false);
                  void store.signOut();
                }}
              >
                {texts.signOut}
              </Button>
            </>
          }
        >
          <p>{texts.signOutText}</p>
        </Sheet>
      )}
    </div>
  );
}
