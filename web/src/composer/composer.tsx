/** Where messages are written. */
import type {ChatRef} from '../ui/registry.tsx';
import {words} from '../words/index.ts';

export function Composer(_: ChatRef) {
  return <textarea aria-label={words.composer.message} />;
}
