/** Copying text, also where the page is no secure context and has no clipboard. */
import {words} from '../words/index.ts';
import {toast} from './toast.tsx';

/** Copy text; whether it worked. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

/** Copy text and say so. */
export async function copy(text: string): Promise<void> {
  if (await copyText(text)) toast(words.shell.copied);
}

function copySelected(text: string): boolean {
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'hidden-text';
  const before = document.activeElement as HTMLElement | null;
  (document.querySelector('dialog[open]') ?? document.body).append(field);
  field.select();
  const done = document.execCommand('copy');
  field.remove();
  before?.focus({preventScroll: true});
  return done;
}
