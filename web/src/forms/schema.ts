/** What a form shows for a host's settings schema, and what is wrong with values: pure, and without words. */
import type {J} from '../ahp/edits.ts';
import type {ConfigPropertySchema, SessionConfigPropertySchema} from '../ahp/index.ts';

/** A schema of settings, of a session, a model or the host. */
export interface SettingsSchema {
  readonly properties: {readonly [key: string]: SessionConfigPropertySchema};
  readonly required?: readonly string[];
}
export type Values = {readonly [key: string]: J};

/** One thing that can be chosen. */
export interface Choice {
  readonly value: J;
  readonly label: string;
  readonly description: string | undefined;
}

interface FieldBase {
  readonly key: string;
  readonly title: string;
  readonly description: string | undefined;
  readonly required: boolean;
  readonly readOnly: boolean;
  /** What counts where nothing is set. */
  readonly fallback: J;
}

/** One field of a form. `json` is for whatever the form has no better control for. */
export type Field = FieldBase &
  (
    | {readonly kind: 'text' | 'number' | 'switch' | 'json'}
    | {readonly kind: 'choice'; readonly choices: readonly Choice[]}
    | {readonly kind: 'dynamic'; readonly choices: readonly Choice[]}
    | {readonly kind: 'many'; readonly choices: readonly Choice[]; readonly least: number; readonly most: number}
    | {readonly kind: 'list'; readonly item: 'text' | 'number'; readonly least: number; readonly most: number}
    | {readonly kind: 'group'; readonly fields: readonly Field[]}
  );

/** Why a value cannot be as it is. */
export type Problem = {readonly why: 'missing' | 'notNumber' | 'notListed' | 'notJson' | 'wrongKind'} | {readonly why: 'tooFew' | 'tooMany'; readonly limit: number};

/** The fields of a schema, in its order. */
export function fieldsOf(schema: SettingsSchema): readonly Field[] {
  const required = new Set(schema.required);
  return Object.entries(schema.properties).map(([key, property]) => fieldOf(key, property, required.has(key), 0));
}

function fieldOf(key: string, property: SessionConfigPropertySchema, required: boolean, depth: number): Field {
  const base: FieldBase = {
    key,
    title: property.title || key,
    description: property.description,
    required,
    readOnly: property.readOnly === true,
    fallback: property.default,
  };
  if (property.enumDynamic && property.type === 'string') return {...base, kind: 'dynamic', choices: choicesOf(property)};
  if (property.enum) return {...base, kind: 'choice', choices: choicesOf(property)};
  switch (property.type) {
    case 'string':
      return {...base, kind: 'text'};
    case 'number':
      return {...base, kind: 'number'};
    case 'boolean':
      return {...base, kind: 'switch'};
    case 'array':
      return arrayField(base, property);
    case 'object':
      return objectField(base, property, depth);
    default:
      return {...base, kind: 'json'};
  }
}

function arrayField(base: FieldBase, property: ConfigPropertySchema): Field {
  const limits = {least: property.minItems ?? 0, most: property.maxItems ?? Infinity};
  const item = property.items;
  if (item?.enum) return {...base, kind: 'many', choices: choicesOf(item), ...limits};
  if (item?.type === 'string') return {...base, kind: 'list', item: 'text', ...limits};
  if (item?.type === 'number') return {...base, kind: 'list', item: 'number', ...limits};
  return {...base, kind: 'json'};
}

function objectField(base: FieldBase, property: ConfigPropertySchema, depth: number): Field {
  // Deeper ones would be a form inside a form inside a form; text is kinder.
  if (!property.properties || property.additionalProperties || depth > 0) return {...base, kind: 'json'};
  const required = new Set(property.required);
  const fields = Object.entries(property.properties).map(([key, inner]) => fieldOf(key, inner, required.has(key), depth + 1));
  return {...base, kind: 'group', fields};
}

function choicesOf(property: ConfigPropertySchema): readonly Choice[] {
  return (property.enum ?? []).map((value, index) => ({
    value,
    label: property.enumLabels?.[index] ?? String(value),
    description: property.enumDescriptions?.[index],
  }));
}

/** The value of a setting, its default where none is given. */
export function valueOf(schema: SettingsSchema, values: Values, key: string): J {
  return Object.hasOwn(values, key) ? values[key] : schema.properties[key]?.default;
}

/** Values with one of them set, or taken out by undefined. */
export function withValue(values: Values, key: string, value: J): Values {
  const kept = Object.entries(values).filter(([name]) => name !== key);
  return Object.fromEntries(value === undefined ? kept : [...kept, [key, value]]);
}

/** What is wrong with a field's value; undefined if nothing is. Read-only ones are the host's affair. */
export function problemOf(field: Field, value: J): Problem | undefined {
  if (field.readOnly) return undefined;
  if (value === undefined || value === null || value === '') return field.required ? {why: 'missing'} : undefined;
  switch (field.kind) {
    case 'text':
    case 'dynamic':
      return typeof value === 'string' ? undefined : {why: 'wrongKind'};
    case 'number':
      return typeof value === 'number' && Number.isFinite(value) ? undefined : {why: 'notNumber'};
    case 'switch':
      return typeof value === 'boolean' ? undefined : {why: 'wrongKind'};
    case 'choice':
      return field.choices.some(choice => choice.value === value) ? undefined : {why: 'notListed'};
    case 'many':
    case 'list':
      return listProblem(field, value);
    case 'group':
      return groupProblem(field.fields, value);
    case 'json':
      return value instanceof NotJson ? {why: 'notJson'} : undefined;
  }
}

function listProblem(field: Field & {kind: 'many' | 'list'}, value: J): Problem | undefined {
  if (!Array.isArray(value)) return {why: 'wrongKind'};
  if (value.length < field.least) return {why: 'tooFew', limit: field.least};
  if (value.length > field.most) return {why: 'tooMany', limit: field.most};
  if (field.kind === 'list' && field.item === 'number' && !value.every(item => Number.isFinite(item))) return {why: 'notNumber'};
  return undefined;
}

function groupProblem(fields: readonly Field[], value: J): Problem | undefined {
  if (typeof value !== 'object' || Array.isArray(value)) return {why: 'wrongKind'};
  return fields.map(field => problemOf(field, Object.hasOwn(value, field.key) ? value[field.key] : field.fallback)).find(Boolean);
}

/** Text that a person typed where JSON belongs, kept so that it can be put right. */
export class NotJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }

  /** Neither kept nor sent. */
  toJSON(): undefined {
    return undefined;
  }
}

/** What the text of a JSON field means: nothing, a value, or text that is no JSON yet. */
export function parsedJson(text: string): J {
  if (!text.trim()) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return new NotJson(text);
  }
}

/** The problems of all fields by key; empty if the values may be sent. */
export function problemsOf(schema: SettingsSchema, values: Values): ReadonlyMap<string, Problem> {
  const found = new Map<string, Problem>();
  for (const field of fieldsOf(schema)) {
    const problem = problemOf(field, valueOf(schema, values, field.key));
    if (problem) found.set(field.key, problem);
  }
  return found;
}

/** The values that a schema knows and lets a person change, for sending. */
export function sendable(schema: SettingsSchema, values: Values): Values {
  const known = Object.entries(values).filter(([key, value]) => {
    const property = Object.hasOwn(schema.properties, key) ? schema.properties[key] : undefined;
    return property && !property.readOnly && value !== undefined && value !== '' && !(value instanceof NotJson);
  });
  return Object.fromEntries(known);
}

/** Values without those whose choices the host looks up: elsewhere there are others. */
export function withoutLookedUp(schema: SettingsSchema | undefined, values: Values): Values {
  return Object.fromEntries(Object.entries(values).filter(([key]) => !(schema && Object.hasOwn(schema.properties, key) && schema.properties[key]?.enumDynamic)));
}
