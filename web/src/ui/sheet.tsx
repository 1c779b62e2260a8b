/** Dialogs: in the middle of a wide page, sheets from the bottom of a phone. Back closes them first. */
import {X} from 'lucide';
import type {ComponentChildren} from 'preact';
import {useEffect, useId, useRef} from 'preact/hooks';
import {pushLayer} from '../route.ts';
import {words} from '../words/index.ts';
import {Button} from './button.tsx';
import {ToastsInModal} from './toast.tsx';

export interface SheetProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  /** Buttons at the bottom, deny left, approve right. */
  readonly actions?: ComponentChildren;
  readonly class?: string | undefined;
  /** Whether only its content is shown, without the title's line; the title stays its name. */
  readonly bare?: boolean | undefined;
}

/** A modal dialog while it is rendered. */
export function Sheet({title, onClose, children, actions, class: className, bare}: SheetProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const close = useRef(onClose);
  close.current = onClose;
  const id = useId();
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    dialog.current?.showModal();
    const drop = pushLayer(() => close.current());
    return () => {
      drop();
      before?.focus({preventScroll: true});
    };
  }, []);
  const press = (event: MouseEvent): void => {
    if (event.target === dialog.current) onClose();
  };
  const cancel = (event: Event): void => {
    event.preventDefault();
    onClose();
  };
  return (
    <dialog ref={dialog} class={className ? `ui-sheet ${className}` : 'ui-sheet'} aria-labelledby={id} onCancel={cancel} onClick={press}>
      <div class="ui-sheet-body">
        <header class={bare ? 'hidden-text' : 'ui-sheet-head'}>
          <h2 id={id}>{title}</h2>
          {!bare && <Button kind="quiet" icon={X} label={words.shell.close} onClick={onClose} />}
        </header>
        <div class="ui-sheet-content">{children}</div>
        {actions && <footer class="ui-sheet-actions">{actions}</footer>}
      </div>
      <ToastsInModal />
    </dialog>
  );
}
