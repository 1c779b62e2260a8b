/** A picture out of a file: shown as an image only, so that nothing in it can run. */
import {useEffect, useState} from 'preact/hooks';
import {words} from '../../words/index.ts';

export function ImageView({bytes, type, name}: {bytes: Uint8Array<ArrayBuffer>; type: string; name: string}) {
  const [url, setUrl] = useState<string>();
  const [isBroken, setBroken] = useState(false);
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes], {type}));
    setUrl(made);
    setBroken(false);
    return () => URL.revokeObjectURL(made);
  }, [bytes, type]);
  if (isBroken) return <p class="files-note">{words.workspace.files.brokenImage}</p>;
  return <div class="files-image">{url && <img src={url} alt={name} onError={() => setBroken(true)} />}</div>;
}
