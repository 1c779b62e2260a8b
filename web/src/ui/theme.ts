/** Light, dark, or as the device has it. */
import {effect, signal} from '@preact/signals';
import {remember, remembered} from '../store/device.ts';

export type Theme = 'system' | 'light' | 'dark';

export const THEMES: readonly Theme[] = ['system', 'light', 'dark'];

const known = remembered('theme');

/** The theme that was chosen on this device; set it to choose another. */
export const theme = signal<Theme>(known === 'light' || known === 'dark' ? known : 'system');

effect(() => {
  const root = document.documentElement;
  if (theme.value === 'system') root.removeAttribute('data-theme');
  else root.setAttribute('data-theme', theme.value);
  remember('theme', theme.value === 'system' ? undefined : theme.value);
});
