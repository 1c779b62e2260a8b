/** Which settings a session can be started with: asked of the host after each choice, since one may depend on another. */
import {useCallback, useEffect, useState} from 'preact/hooks';
import type {ResolveSessionConfigResult} from '../ahp/index.ts';
import type {Complete} from '../forms/form.tsx';
import type {Values} from '../forms/schema.ts';
import {useStore} from '../store/index.ts';
import {reasonOf} from './refusal.ts';

// Milliseconds without a change after which the host is asked.
const PAUSE = 150;

/** What the settings depend on. */
export interface ConfigContext {
  readonly provider: string | undefined;
  readonly directory: string | undefined;
  readonly config: Values;
}

export interface ResolvedConfig {
  /** The last answer, which stays until there is a newer one for the same agent. */
  readonly answer: ResolveSessionConfigResult | undefined;
  readonly isAsking: boolean;
  /** Why there is no answer. */
  readonly refused: string | undefined;
  readonly complete: Complete;
}

const given = ({provider, directory, config}: ConfigContext) => ({
  ...(provider === undefined ? {} : {provider}),
  ...(directory === undefined ? {} : {workingDirectory: directory}),
  config,
});

/** The settings for what is chosen so far. */
export function useResolvedConfig(context: ConfigContext): ResolvedConfig {
  const store = useStore();
  const isLive = store.live.value === 'live';
  const {provider, directory, config} = context;
  const key = JSON.stringify(given(context));
  const [told, setTold] = useState<{key: string; provider: string | undefined; answer?: ResolveSessionConfigResult; refused?: string}>();
  useEffect(() => {
    if (!isLive || told?.key === key) return undefined;
    let isCurrent = true;
    const timer = setTimeout(() => {
      store.ask('resolveSessionConfig', given(context)).then(
        answer => isCurrent && setTold({key, provider, answer}),
        error => isCurrent && setTold({key, provider, refused: reasonOf(error)}),
      );
    }, told ? PAUSE : 0);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [store, isLive, key]);
  const complete = useCallback<Complete>(
    async (property, query) => {
      const params = {...given({provider, directory, config}), property, query};
      const {items} = await store.ask('sessionConfigCompletions', params);
      return items.map(item => ({value: item.value, label: item.label, description: item.description}));
    },
    [store, key],
  );
  const isSame = told?.provider === provider;
  return {answer: isSame ? told?.answer : undefined, isAsking: told?.key !== key, refused: isSame ? told?.refused : undefined, complete};
}
