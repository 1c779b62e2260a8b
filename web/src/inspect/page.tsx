/** The inspector of the messages between this page and its host. */
import {words} from '../words/index.ts';

export function InspectPage() {
  return <h1>{words.inspect.title}</h1>;
}
