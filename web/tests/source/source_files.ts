/** The page's source, as tests about it read it. */
import {readFileSync, readdirSync} from 'node:fs';
import {fileURLToPath} from 'node:url';

const WEB = fileURLToPath(new URL('../..', import.meta.url));

export interface SourceFile {
  /** The path below `web/`. */
  readonly path: string;
  readonly text: string;
}

/** Every source file whose name ends so. */
export function sourceFiles(...endings: readonly string[]): SourceFile[] {
  return readdirSync(`${WEB}src`, {recursive: true, encoding: 'utf8'})
    .filter(name => endings.some(ending => name.endsWith(ending)))
    .map(name => ({path: `src/${name}`, text: readFileSync(`${WEB}src/${name}`, 'utf8')}));
}
