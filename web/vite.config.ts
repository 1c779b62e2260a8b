import {defineConfig} from 'vitest/config';
import {serviceWorker} from './tools/service_worker.ts';

export default defineConfig({
  base: '/',
  plugins: [serviceWorker()],
  build: {
    target: 'es2022',
    // A data URL would need a hole in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: {polyfill: false},
    cssCodeSplit: true,
    manifest: true,
    outDir: 'dist',
    sourcemap: false,
    rolldownOptions: {
      // A slow machine is no fault of the build.
      checks: {bundlerTimings: false},
      // All that the first load needs is one file: in pieces it is packed worse. What is imported comes along.
      output: {codeSplitting: {groups: [{name: 'first', test: /src\/(?:store|styles|ui\/ui\.css|rooms|shell\/app)/}]}},
    },
  },
  oxc: {jsx: {runtime: 'automatic', importSource: 'preact'}},
  worker: {format: 'es'},
  test: {
    environment: 'node',
    environmentOptions: {happyDOM: {width: 1440, height: 900}},
    projects: [
      // What draws leaves things behind in its document; the rest can share a worker, which is three times as fast.
      {extends: true, test: {name: 'pure', include: ['tests/**/*.test.ts'], isolate: false}},
      {extends: true, test: {name: 'drawn', include: ['tests/**/*.test.tsx']}},
    ],
  },
});
