/** Icons: lucide's drawings as vnodes, 16 px, in the colour of the text around them. */
import type {IconNode} from 'lucide';
import {h} from 'preact';

export interface IconProps {
  readonly of: IconNode;
  readonly size?: number | undefined;
  readonly class?: string | undefined;
  /** Only where the icon stands alone and says something; else it is hidden from assistive technology. */
  readonly label?: string | undefined;
}

export function Icon({of, size = 16, class: className, label}: IconProps) {
  const named = label === undefined ? {'aria-hidden': true as const} : {role: 'img' as const, 'aria-label': label};
  return (
    <svg
      class={className ? `ui-icon ${className}` : 'ui-icon'}
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      stroke-linecap="round"
      stroke-linejoin="round"
      {...named}
    >
      {of.map(([tag, attributes], index) => h(tag, {key: index, ...attributes}))}
    </svg>
  );
}
