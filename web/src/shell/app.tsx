/** The page's frame: which room is where, and what lies over all of them. */
import './shell.css';
import {useEffect} from 'preact/hooks';
import {useStore} from '../store/index.ts';
import {LiveRegion} from '../ui/announce.tsx';
import {runKeys} from '../ui/commands.ts';
import {startClock} from '../ui/time.ts';
import {Toasts} from '../ui/toast.tsx';
import {width} from '../ui/width.ts';
import {words} from '../words/index.ts';
import {Frame} from './frame.tsx';
import {Help} from './help.tsx';
import {Palette} from './palette.tsx';
import {useShellCommands} from './shell_commands.ts';
import {SignIn} from './sign_in.tsx';
import {useTitle} from './title.ts';
import {useVisibleHeight} from './visible_height.ts';
import {useWaitingTold} from './waiting_told.ts';

function skip(event: MouseEvent): void {
  event.preventDefault();
  document.getElementById('shell-main')?.focus();
}

export function App() {
  const store = useStore();
  useEffect(() => {
    startClock();
    document.addEventListener('keydown', runKeys);
    return () => document.removeEventListener('keydown', runKeys);
  }, []);
  useVisibleHeight();
  useShellCommands(store);
  useWaitingTold(store);
  useTitle(store);
  if (store.live.value === 'signedOut') return <SignIn />;
  return (
    <div class={`shell ${width.value}`}>
      <a class="shell-skip" href="#shell-main" onClick={skip}>{words.shell.skipToChat}</a>
      <Frame />
      <Palette />
      <Help />
      <Toasts />
      <LiveRegion />
    </div>
  );
}
