/** Files from this device: pictures are attached, anything else is said to be the host's business. */
import {Paperclip} from 'lucide';
import {useEffect, useRef} from 'preact/hooks';
import {Button} from '../ui/button.tsx';
import {toast} from '../ui/toast.tsx';
import {words} from '../words/index.ts';
import {PictureRefused, attachedPicture} from './images.ts';
import type {OpenDraft} from './use_draft.ts';

/** Attach files that were pasted or dropped; whether there were any. */
export function attachFiles(draft: OpenDraft, files: readonly File[]): boolean {
  for (const file of files) void attach(draft, file);
  return files.length > 0;
}

async function attach(draft: OpenDraft, file: File): Promise<void> {
  const label = file.name || words.composer.pastedPicture;
  if (!file.type.startsWith('image/')) {
    toast(words.composer.fileNotPicture(label));
    return;
  }
  try {
    draft.attach(await attachedPicture(file, label));
  } catch (error) {
    const isLarge = error instanceof PictureRefused && error.why === 'tooLarge';
    toast(isLarge ? words.composer.pictureTooLarge(label) : words.composer.pictureUnreadable(label));
  }
}

/** Attach what is dropped anywhere on the page: else the browser would leave the page for the file. */
export function useDroppedFiles(draft: OpenDraft): void {
  useEffect(() => {
    const over = (event: DragEvent): void => {
      if (event.dataTransfer?.types.includes('Files')) event.preventDefault();
    };
    const drop = (event: DragEvent): void => {
      if (!event.defaultPrevented && attachFiles(draft, [...(event.dataTransfer?.files ?? [])])) event.preventDefault();
    };
    window.addEventListener('dragover', over);
    window.addEventListener('drop', drop);
    return () => {
      window.removeEventListener('dragover', over);
      window.removeEventListener('drop', drop);
    };
  }, [draft]);
}

/** The way to a picture where there is nothing to paste or drop from. */
export function AttachButton({draft}: {draft: OpenDraft}) {
  const field = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button kind="quiet" icon={Paperclip} label={words.composer.attach} onClick={() => field.current?.click()} />
      <input
        ref={field}
        type="file"
        accept="image/*"
        multiple
        hidden
        onChange={event => {
          attachFiles(draft, [...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = '';
        }}
      />
    </>
  );
}
