/** What is in a folder of the host. */
import {useEffect, useState} from 'preact/hooks';
import {WireError} from '../ahp/index.ts';
import {useStore} from '../store/index.ts';

const NOT_FOUND = -32_008;

/** A folder as far as it is known. */
export type FolderContent =
  | {readonly phase: 'loading'}
  | {readonly phase: 'refused'; readonly reason: string; readonly isMissing: boolean}
  | {readonly phase: 'listed'; readonly folders: readonly string[]; readonly files: number};

/** List a folder; asked anew when the connection is back. */
export function useFolder(uri: string): FolderContent {
  const store = useStore();
  const isLive = store.live.value === 'live';
  const [content, setContent] = useState<{of: string; content: FolderContent}>();
  useEffect(() => {
    if (!isLive) return undefined;
    let isCurrent = true;
    const tell = (told: FolderContent): void => {
      if (isCurrent) setContent({of: uri, content: told});
    };
    store.ask('resourceList', {uri}).then(
      ({entries}) => {
        const folders = entries.filter(entry => entry.type === 'directory').map(entry => entry.name);
        const sorted = folders.toSorted((a, b) => a.localeCompare(b, undefined, {numeric: true}));
        tell({phase: 'listed', folders: sorted, files: entries.length - folders.length});
      },
      error => tell({phase: 'refused', reason: error instanceof Error ? error.message : '', isMissing: error instanceof WireError && error.code === NOT_FOUND}),
    );
    return () => {
      isCurrent = false;
    };
  }, [store, uri, isLive]);
  return content?.of === uri ? content.content : {phase: 'loading'};
}
