/** Builds the service worker: one script of its own, which knows the files of the page's first load. */
import {createHash} from 'node:crypto';
import {type Plugin, type Rolldown, build} from 'vite';

const SOURCE = 'src/sw/sw.ts';

type Bundle = Rolldown.OutputBundle;

/** The files that a page needs to start: its entry, what that imports, and their styles. */
export function firstLoad(bundle: Bundle): string[] {
  const found = new Set<string>();
  const add = (name: string): void => {
    const chunk = bundle[name];
    if (found.has(name) || chunk?.type !== 'chunk') return;
    found.add(name);
    for (const css of (chunk as {viteMetadata?: {importedCss?: Set<string>}}).viteMetadata?.importedCss ?? []) found.add(css);
    for (const imported of chunk.imports) add(imported);
  };
  for (const chunk of Object.values(bundle)) if (chunk.type === 'chunk' && chunk.isEntry) add(chunk.fileName);
  return [...found].toSorted();
}

/** The plugin that writes `sw.js`. */
export function serviceWorker(): Plugin {
  return {
    name: 'agenthost-service-worker',
    apply: 'build',
    generateBundle: {
      order: 'post',
      async handler(_, bundle) {
        const files = ['/', ...firstLoad(bundle).map(name => `/${name}`)];
        // The index has no hash in its name, so what is in it counts too.
        const index = bundle['index.html'];
        const name = createHash('sha256').update(JSON.stringify(files)).update(index?.type === 'asset' ? index.source : '').digest('hex').slice(0, 16);
        this.emitFile({type: 'asset', fileName: 'sw.js', source: await script(files, name)});
      },
    },
  };
}

async function script(files: readonly string[], name: string): Promise<string> {
  const made = await build({
    configFile: false,
    publicDir: false,
    logLevel: 'error',
    define: {PRECACHE: JSON.stringify(files), BUILD: JSON.stringify(name)},
    build: {write: false, target: 'es2022', modulePreload: false, rolldownOptions: {input: SOURCE, output: {format: 'iife'}}},
  });
  const [output] = Array.isArray(made) ? made : [made];
  const chunk = output && 'output' in output ? output.output[0] : undefined;
  if (chunk?.type !== 'chunk') throw new Error('the service worker was not built');
  return chunk.code;
}
