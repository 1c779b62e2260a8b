/** The languages that are coloured, each loaded when it is first met. */
import type {LanguageRegistration} from '@shikijs/primitive';

type Load = () => Promise<{default: LanguageRegistration[]}>;

const LOADS: Readonly<Record<string, Load>> = {
  typescript: () => import('@shikijs/langs/typescript'),
  tsx: () => import('@shikijs/langs/tsx'),
  javascript: () => import('@shikijs/langs/javascript'),
  json: () => import('@shikijs/langs/json'),
  python: () => import('@shikijs/langs/python'),
  shellscript: () => import('@shikijs/langs/shellscript'),
  diff: () => import('@shikijs/langs/diff'),
  markdown: () => import('@shikijs/langs/markdown'),
  html: () => import('@shikijs/langs/html'),
  css: () => import('@shikijs/langs/css'),
  yaml: () => import('@shikijs/langs/yaml'),
  toml: () => import('@shikijs/langs/toml'),
  rust: () => import('@shikijs/langs/rust'),
  go: () => import('@shikijs/langs/go'),
  c: () => import('@shikijs/langs/c'),
  cpp: () => import('@shikijs/langs/cpp'),
  java: () => import('@shikijs/langs/java'),
  sql: () => import('@shikijs/langs/sql'),
};

const OTHER_NAMES: Readonly<Record<string, string>> = {
  ts: 'typescript', mts: 'typescript', js: 'javascript', jsx: 'tsx', mjs: 'javascript', cjs: 'javascript', jsonc: 'json', py: 'python', python3: 'python',
  sh: 'shellscript', bash: 'shellscript', zsh: 'shellscript', shell: 'shellscript', console: 'shellscript', patch: 'diff', md: 'markdown', htm: 'html',
  yml: 'yaml', rs: 'rust', golang: 'go', h: 'c', 'c++': 'cpp', cc: 'cpp', hpp: 'cpp',
};

/** The language that a fence or a file's ending names; undefined if it stays plain. */
export function languageOf(name: string): {name: string; load: Load} | undefined {
  const lower = name.toLowerCase();
  const own = Object.hasOwn(OTHER_NAMES, lower) ? OTHER_NAMES[lower] ?? lower : lower;
  const load = Object.hasOwn(LOADS, own) ? LOADS[own] : undefined;
  return load && {name: own, load};
}
