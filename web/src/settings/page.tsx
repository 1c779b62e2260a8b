/** The page of the settings. */
import {words} from '../words/index.ts';

export function SettingsPage() {
  return <h1>{words.settings.title}</h1>;
}
