/** Buttons. One that cannot be used now stays focusable and says why. */
import type {IconNode} from 'lucide';
import type {ComponentChildren, Ref} from 'preact';
import {Icon} from './icon.tsx';
import {useWhyNot} from './may_act.ts';

export interface ButtonProps {
  readonly onClick?: ((event: MouseEvent) => void) | undefined;
  readonly children?: ComponentChildren;
  readonly kind?: 'plain' | 'primary' | 'quiet' | 'danger' | undefined;
  readonly icon?: IconNode | undefined;
  /** The accessible name, where there is only an icon. It shows as a tooltip too. */
  readonly label?: string | undefined;
  /** Why it cannot be used now. */
  readonly whyNot?: string | undefined;
  /** Whether it is shown as unusable for a moment, which needs no reason; its owner sees to that. */
  readonly isDead?: boolean | undefined;
  readonly class?: string | undefined;
  readonly pressed?: boolean | undefined;
  readonly expanded?: boolean | undefined;
  readonly popup?: 'menu' | 'dialog' | 'listbox' | undefined;
  readonly submit?: boolean | undefined;
  readonly buttonRef?: Ref<HTMLButtonElement> | undefined;
  readonly id?: string | undefined;
}

/** A button of the page's own doing, which works without the host. */
export function Button({onClick, children, kind = 'plain', icon, label, whyNot, isDead = false, class: className, pressed, expanded, popup, submit, buttonRef, id}: ButtonProps) {
  const click = (event: MouseEvent): void => {
    if (whyNot !== undefined) event.preventDefault();
    else onClick?.(event);
  };
  return (
    <button
      ref={buttonRef ?? null}
      id={id}
      type={submit ? 'submit' : 'button'}
      class={['ui-button', kind, !children && 'icon-only', className].filter(Boolean).join(' ')}
      aria-label={label}
      aria-pressed={pressed}
      aria-expanded={expanded}
      aria-haspopup={popup}
      aria-disabled={whyNot !== undefined || isDead || undefined}
      title={whyNot ?? label}
      onClick={click}
    >
      {icon && <Icon of={icon} />}
      {children}
    </button>
  );
}

/** A button that asks something of the host: unusable, with the reason, while disconnected or for a viewer. */
export function ActButton({whyNot, ...rest}: ButtonProps) {
  const why = useWhyNot();
  return <Button {...rest} whyNot={why ?? whyNot} />;
}
