/** What is inside a line of markdown, as elements. HTML stays text, images are links. */
import type {Links, Token, Tokens} from 'marked';
import type {ComponentChild} from 'preact';
import {Link} from '../ui/safe.tsx';
import {words} from '../words/index.ts';
import {resolved} from './entities.ts';
import {inlineOf} from './lex.ts';

/** Without any definition. */
export const NO_LINKS: Links = Object.freeze(Object.create(null) as Links);

/** A text with its inline marks; plain where it is too long for that. */
export function Inline({text, links = NO_LINKS}: {text: string; links?: Links | undefined}) {
  const tokens = inlineOf(text, links);
  return <>{tokens ? tokens.map(inlineView) : text}</>;
}

function inlineView(token: Token, index: number): ComponentChild {
  switch (token.type) {
    case 'text': return hasTokens(token) ? token.tokens.map(inlineView) : resolved((token as Tokens.Text).text);
    case 'escape': return (token as Tokens.Escape).text;
    case 'strong': return <strong key={index}>{inside(token)}</strong>;
    case 'em': return <em key={index}>{inside(token)}</em>;
    case 'del': return <del key={index}>{inside(token)}</del>;
    case 'codespan': return <code key={index} class="md-span">{(token as Tokens.Codespan).text}</code>;
    case 'br': return <br key={index} />;
    case 'link': return <Link key={index} href={(token as Tokens.Link).href} text={(token as Tokens.Link).text}>{inside(token)}</Link>;
    case 'image': return <Link key={index} href={(token as Tokens.Image).href}>{words.markdown.image((token as Tokens.Image).text)}</Link>;
    default: return token.raw;
  }
}

const hasTokens = (token: Token): token is Token & {tokens: Token[]} => 'tokens' in token && Array.isArray(token.tokens) && token.tokens.length > 0;
const inside = (token: Token): ComponentChild => (hasTokens(token) ? token.tokens.map(inlineView) : 'text' in token ? resolved(String(token['text'])) : token.raw);
