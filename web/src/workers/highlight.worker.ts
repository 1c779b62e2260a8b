/** The worker that colours code: which run of each line has which of the page's colour classes. */
import {createJavaScriptRegexEngine} from '@shikijs/engine-javascript';
import {codeToTokensBase, createShikiPrimitive} from '@shikijs/primitive';
import type {LanguageRegistration, ThemeRegistration} from '@shikijs/primitive';
import {languageOf} from './highlight_languages.ts';
import type {PaintAsk, PaintTold} from './messages.ts';

/** Scopes by class; the number of a class is its place, and its colour in the page's tokens. */
const CLASSES: readonly (readonly string[])[] = [
  ['comment', 'punctuation.definition.comment'],
  ['keyword', 'storage', 'keyword.operator.new', 'keyword.operator.expression'],
  ['string', 'markup.inline.raw', 'string.regexp'],
  ['entity.name.function', 'support.function', 'meta.function-call.generic'],
  ['entity.name.type', 'entity.name.class', 'support.type', 'support.class', 'entity.other.inherited-class', 'entity.name.namespace'],
  ['constant.numeric', 'constant.language', 'constant.character', 'support.constant', 'variable.language'],
  ['entity.other.attribute-name', 'variable.parameter', 'support.type.property-name', 'meta.object-literal.key'],
  ['markup.deleted', 'invalid', 'entity.name.tag'],
  ['markup.heading', 'entity.name.section', 'markup.bold'],
  ['markup.inserted', 'variable.other.constant', 'constant.other'],
  ['meta.decorator', 'entity.name.function.decorator', 'punctuation.decorator', 'variable.other.env', 'punctuation.definition.template-expression'],
];

// A colour is only a number here, which is read back from what comes out.
const colour = (cls: number): string => `#0000${cls.toString(16).padStart(2, '0').toUpperCase()}`;

const THEME: ThemeRegistration = {
  name: 'classes',
  type: 'light',
  colors: {'editor.foreground': colour(0), 'editor.background': '#FFFFFF'},
  settings: [{settings: {foreground: colour(0)}}, {scope: ['keyword.operator'], settings: {foreground: colour(0)}}, ...CLASSES.map((scope, index) => ({scope: [...scope], settings: {foreground: colour(index + 1)}}))],
};

/** Milliseconds for a line, of which the first takes long as the grammar is compiled, and characters of a line that are looked at. */
const LINE_TIME = 1500;
const LINE_LENGTH = 2000;

const engine = createJavaScriptRegexEngine({forgiving: true});
const loaded = new Map<string, Promise<(code: string) => PaintTold['lines']>>();

function painter(name: string, load: () => Promise<{default: LanguageRegistration[]}>): Promise<(code: string) => PaintTold['lines']> {
  const known = loaded.get(name) ?? load().then(({default: langs}) => {
    const shiki = createShikiPrimitive({engine, langs, themes: [THEME]});
    const lang = langs.at(-1)?.name ?? name;
    return (code: string) => codeToTokensBase(shiki, code, {lang, theme: 'classes', tokenizeTimeLimit: LINE_TIME, tokenizeMaxLineLength: LINE_LENGTH}).map(runsOf);
  });
  loaded.set(name, known);
  return known;
}

/** Tokens as runs, neighbours of one class together. */
function runsOf(tokens: readonly {content: string; color?: string}[]): [number, number][] {
  const runs: [number, number][] = [];
  for (const {content, color} of tokens) {
    const cls = Number.parseInt(color?.slice(5, 7) ?? '0', 16) || 0;
    const last = runs.at(-1);
    if (last?.[1] === cls) last[0] += content.length;
    else runs.push([content.length, cls]);
  }
  return runs;
}

async function paint({id, lang, code}: PaintAsk): Promise<PaintTold> {
  const language = languageOf(lang);
  if (!language) return {id, lines: null};
  try {
    return {id, lines: (await painter(language.name, language.load))(code)};
  } catch {
    return {id, lines: null};
  }
}

self.addEventListener('message', (event: MessageEvent<PaintAsk>) => {
  void paint(event.data).then(told => self.postMessage(told));
});
