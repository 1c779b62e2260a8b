/**
 * Why a socket did not open.
 *
 * Browsers keep the answer to a refused upgrade to themselves, so a page of the host's that needs
 * the same token is asked instead.
 */

export type Admission = 'admitted' | 'unreachable' | 'signedOut' | {readonly waitMs: number} | {readonly refused: string};

const GUARDED_PAGE = '/metrics';
const PATIENCE = 10_000;
// Seconds, where the host says "too many" and not for how long.
const REST = 30;

/** Ask the host whether this token would let a page of this origin in. */
export async function askAdmission(token: string | undefined, origin: string, get: typeof fetch = fetch): Promise<Admission> {
  try {
    // Unlike for the socket, browsers would not say where this page is from.
    const headers: Record<string, string> = {'Agenthost-Origin': origin};
    if (token !== undefined) headers['Authorization'] = `Bearer ${token}`;
    const response = await get(GUARDED_PAGE, {method: 'GET', headers, cache: 'no-store', signal: AbortSignal.timeout(PATIENCE)});
    const text = response.ok ? '' : (await response.text()).slice(0, 300).trim();
    void response.body?.cancel().catch(() => {});
    return judged(response.status, text, response.headers.get('Retry-After'));
  } catch {
    return 'unreachable';
  }
}

function judged(status: number, text: string, retryAfter: string | null): Admission {
  if (status === 401) return 'signedOut';
  if (status === 403) return {refused: text};
  if (status === 429) return {waitMs: 1_000 * (Number(retryAfter) || REST)};
  return status >= 500 ? 'unreachable' : 'admitted';
}
