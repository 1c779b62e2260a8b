/** What is shown to somebody who has no access, or no more. */
import {useState} from 'preact/hooks';
import {signIn} from '../store/sign_in.ts';
import {Button} from '../ui/button.tsx';
import {words} from '../words/index.ts';

export function SignIn() {
  const [token, setToken] = useState('');
  const submit = (event: Event): void => {
    event.preventDefault();
    signIn(token);
  };
  return (
    <main class="shell-sign-in">
      <form onSubmit={submit}>
        <h1>{words.shell.name}</h1>
        <p>{words.link.signedOut}</p>
        <label>
          {words.link.token}
          <input type="password" autocomplete="off" spellcheck={false} value={token} onInput={event => setToken(event.currentTarget.value)} />
        </label>
        <Button kind="primary" submit>{words.link.signIn}</Button>
      </form>
    </main>
  );
}
