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
    // A slow machine is no fault of the build.
    rolldownOptions: {checks: {bundlerTimings: false}},
  },
  oxc: {jsx: {runtime: 'automatic', importSource: 'preact'}},
  worker: {format: 'es'},
  test: {include: ['tests/**/*.test.{ts,tsx}'], environment: 'node', environmentOptions: {happyDOM: {width: 1440, height: 900}}},
});
