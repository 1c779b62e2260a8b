/**
 * Makes src/ahp/types.ts from the published schemas of AHP 1.0.0: one type per definition.
 *
 * Run it as `node tools/types.mjs` where the schemas are: in $AGENTHOST_SHARED, or in `shared` beside the clone.
 */
import {readFileSync, writeFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';

// In this order: commands come last, because only their StateAction lists every action.
const FILES = ['state', 'actions', 'notifications', 'errors', 'commands'];
const TARGET = new URL('../src/ahp/types.ts', import.meta.url);

// A bitset, whose schema lists the single bits.
const BITSETS = new Set(['SessionStatus']);

/** Where the shared data is. */
export function sharedFolder() {
  return process.env.AGENTHOST_SHARED ?? fileURLToPath(new URL('../../../shared', import.meta.url));
}

/** The text of the types file, made from the schemas in a folder. */
export function typesText(folder) {
  const defs = {};
  for (const file of FILES) Object.assign(defs, JSON.parse(readFileSync(`${folder}/${file}.schema.json`, 'utf8')).$defs);
  const lines = Object.keys(defs).toSorted().map(name =>
    `${comment(defs[name])}export type ${name} = ${BITSETS.has(name) ? 'number' : typeOf(defs[name])};`);
  const head = ['// Made by tools/types.mjs from the schemas of AHP 1.0.0. Do not edit.', '// oxlint-disable', 'export type Json = any;'];
  return `${[...head, ...lines].join('\n')}\n`;
}

function typeOf(schema) {
  if (schema === true || schema === undefined) return 'Json';
  if (schema.$ref !== undefined) return schema.$ref.slice('#/$defs/'.length) || 'never';
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map(value => JSON.stringify(value)).join(' | ');
  const oneOf = schema.oneOf ?? schema.anyOf;
  if (oneOf) return `(${oneOf.map(typeOf).join(' | ')})`;
  if (schema.allOf?.every(part => part.$ref)) return schema.allOf.map(typeOf).join(' & ');
  if (Array.isArray(schema.type)) return schema.type.map(type => typeOf({...schema, type})).join(' | ');
  switch (schema.type) {
    case 'string': case 'boolean': case 'null': case 'number': return schema.type;
    case 'integer': return 'number';
    case 'array': return `readonly (${typeOf(schema.items)})[]`;
    case 'object': return objectType(schema);
    default: return 'Json';
  }
}

function objectType(schema) {
  const required = new Set(schema.required);
  const members = Object.entries(schema.properties ?? {}).map(([key, value]) => {
    const name = /^\w+$/.test(key) ? key : JSON.stringify(key);
    return `readonly ${name}${required.has(key) ? '' : '?'}: ${typeOf(value)};`;
  });
  if (members.length) return `{${members.join(' ')}}`;
  const rest = schema.additionalProperties;
  return `{readonly [key: string]: ${rest && rest !== true ? typeOf(rest) : 'Json'}}`;
}

function comment(schema) {
  return schema.description ? `/** ${schema.description.split('\n')[0].replaceAll('*/', '* /')} */\n` : '';
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(TARGET, typesText(`${sharedFolder()}/schema/1.0.0`));
}
