/** The token in an address, and the address without it. */
export function tokenIn(url: URL): {token: string | undefined; clean: string} {
  const clean = new URL(url);
  const fragment = new URLSearchParams(url.hash.slice(1));
  const token = fragment.get('tkn') ?? clean.searchParams.get('tkn');
  clean.searchParams.delete('tkn');
  if (fragment.has('tkn')) {
    fragment.delete('tkn');
    clean.hash = fragment.toString();
  }
  return {token: token?.trim() || undefined, clean: clean.pathname + clean.search + clean.hash};
}
