/** Making a token and showing it once, as a code to scan and a link to copy. */
import {useId, useState} from 'preact/hooks';
import type {Role} from '../ahp/index.ts';
import {refusal} from '../sessions/refusal.ts';
import {useStore} from '../store/index.ts';
import {ActButton, Button} from '../ui/button.tsx';
import {copy} from '../ui/copy.ts';
import {visible} from '../ui/safe.tsx';
import {Sheet} from '../ui/sheet.tsx';
import {words} from '../words/index.ts';
import {endOf, invitation, isOnlyHere} from './invitation.ts';
import {QrCode} from './qr_code.tsx';

const ROLES: readonly Role[] = ['operator', 'viewer', 'owner'];
const EXPIRIES = {day: 1, month: 30, quarter: 90, never: undefined} as const;
type Expiry = keyof typeof EXPIRIES;

export interface GiveAccessProps {
  /** The names that are taken. */
  readonly taken: readonly string[];
  readonly onMade: () => void;
}

export function GiveAccess({taken, onMade}: GiveAccessProps) {
  const store = useStore();
  const texts = words.settings.access;
  const id = useId();
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('operator');
  const [expiry, setExpiry] = useState<Expiry>('quarter');
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const [made, setMade] = useState<{name: string; secret: string}>();
  const wanted = name.trim() || freeName(taken);
  const create = (event: Event): void => {
    event.preventDefault();
    if (isBusy || store.live.peek() !== 'live') return;
    setBusy(true);
    setProblem(undefined);
    const expires = endOf(EXPIRIES[expiry], Date.now());
    store
      .ask('agenthost/createToken', {name: wanted, role, ...(expires === undefined ? {} : {expires})})
      .then(
        ({secret}) => {
          setMade({name: wanted, secret});
          setName('');
          onMade();
        },
        error => setProblem(refusal(error)),
      )
      .finally(() => setBusy(false));
  };
  return (
    <form class="settings-give" onSubmit={create}>
      <h2>{texts.add}</h2>
      <div class="forms-field">
        <label class="forms-label" for={id}>{texts.name}</label>
        <input id={id} class="forms-input" value={name} maxLength={60} placeholder={freeName(taken)} onInput={event => setName(event.currentTarget.value)} />
      </div>
      <div class="forms-field">
        <label class="forms-label" for={`${id}-role`}>{texts.role}</label>
        <select id={`${id}-role`} class="forms-input" value={role} aria-describedby={`${id}-hint`} onChange={event => setRole(event.currentTarget.value as Role)}>
          {ROLES.map(each => <option key={each} value={each}>{words.settings.roles[each]}</option>)}
        </select>
        <p class="forms-about" id={`${id}-hint`}>{words.settings.roleHints[role]}</p>
      </div>
      <div class="forms-field">
        <label class="forms-label" for={`${id}-ends`}>{texts.expiry}</label>
        <select id={`${id}-ends`} class="forms-input" value={expiry} onChange={event => setExpiry(event.currentTarget.value as Expiry)}>
          {(Object.keys(EXPIRIES) as Expiry[]).map(each => <option key={each} value={each}>{texts.expiries[each]}</option>)}
        </select>
      </div>
      {problem !== undefined && <p class="forms-problem" role="alert">{problem}</p>}
      <ActButton kind="primary" submit whyNot={isBusy ? texts.creating : undefined}>{isBusy ? texts.creating : texts.create}</ActButton>
      {made && <Invitation name={made.name} secret={made.secret} onClose={() => setMade(undefined)} />}
    </form>
  );
}

function freeName(taken: readonly string[]): string {
  const phone = 'phone';
  if (!taken.includes(phone)) return phone;
  let number = 2;
  while (taken.includes(`${phone}-${number}`)) number += 1;
  return `${phone}-${number}`;
}

function Invitation({name, secret, onClose}: {name: string; secret: string; onClose(): void}) {
  const id = useId();
  const texts = words.settings.access;
  const [address, setAddress] = useState(location.origin);
  const link = invitation(address, secret);
  return (
    <Sheet
      title={texts.scan(visible(name))}
      onClose={onClose}
      actions={
        <>
          <Button onClick={() => link !== undefined && void copy(link)} whyNot={link === undefined ? texts.address : undefined}>{texts.copyLink}</Button>
          <Button kind="primary" onClick={onClose}>{texts.done}</Button>
        </>
      }
    >
      <div class="settings-invitation">
        {link !== undefined && <QrCode text={link} />}
        <p>{texts.once}</p>
        <div class="forms-field">
          <label class="forms-label" for={id}>{texts.address}</label>
          <input id={id} class="forms-input" value={address} autocomplete="off" autocapitalize="off" spellcheck={false} onInput={event => setAddress(event.currentTarget.value)} />
          {isOnlyHere(address) && <p class="settings-warning">{texts.onlyHere}</p>}
        </div>
      </div>
    </Sheet>
  );
}
