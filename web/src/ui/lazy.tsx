/** Components whose code loads when they are first shown. */
import type {ComponentType} from 'preact';
import {useEffect, useState} from 'preact/hooks';
import {words} from '../words/index.ts';
import {Button} from './button.tsx';
import {Skeleton} from './skeleton.tsx';

/** A component that loads its code on first use; a failed load can be tried again. */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | undefined;
  return function Lazy(props: P) {
    const [phase, setPhase] = useState<'loading' | 'loaded' | 'failed'>(loaded ? 'loaded' : 'loading');
    useEffect(() => {
      if (phase !== 'loading') return undefined;
      let isShown = true;
      load().then(
        found => {
          loaded = found;
          if (isShown) setPhase('loaded');
        },
        () => isShown && setPhase('failed'),
      );
      return () => {
        isShown = false;
      };
    }, [phase]);
    if (loaded) {
      const Loaded = loaded;
      return <Loaded {...props} />;
    }
    if (phase === 'loading') return <Skeleton lines={4} />;
    return (
      <div class="ui-failed" role="note">
        {words.shell.couldNotLoad} <Button onClick={() => setPhase('loading')}>{words.shell.tryAgain}</Button>
      </div>
    );
  };
}
