/** A diff of two texts. */

export interface DiffViewProps {
  readonly before: string;
  readonly after: string;
  /** Rows shown at most. */
  readonly limit?: number | undefined;
}

export function DiffView({after, limit}: DiffViewProps) {
  return <pre>{after.split('\n').slice(0, limit).join('\n')}</pre>;
}
