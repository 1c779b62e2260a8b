/** A block of code: its language, a way to copy it, and colours once it is complete. */
import {Copy} from 'lucide';
import {Button} from '../ui/button.tsx';
import {copy} from '../ui/copy.ts';
import {words} from '../words/index.ts';

export interface CodeProps {
  readonly text: string;
  /** As the fence says it; the first word counts. */
  readonly lang: string;
  /** Whether it may still grow: then it has no colours yet. */
  readonly isOpen: boolean;
  /** All of it, where this is only a piece. */
  readonly whole?: (() => string) | undefined;
  readonly isFirst?: boolean | undefined;
  readonly isPiece?: boolean | undefined;
}

export function Code({text, lang, whole, isFirst = true, isPiece = false}: CodeProps) {
  const name = lang.trim().split(/[\s{,]/, 1)[0]?.slice(0, 20) ?? '';
  return (
    <div class={isFirst ? 'md-code' : 'md-code md-goes-on'}>
      {isFirst && (
        <div class="md-code-head">
          <span>{name}</span>
          <Button kind="quiet" icon={Copy} label={words.markdown.copyCode} onClick={() => void copy(whole?.() ?? text)} />
        </div>
      )}
      <pre tabIndex={0} role="region" aria-label={words.markdown.code(name)}><code>{isPiece ? text.replace(/\n$/, '') : text}</code></pre>
    </div>
  );
}
