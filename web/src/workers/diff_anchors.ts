/** Lines that stand in both texts once, in the same order: between them a diff is small, and stays fast (pure). */

/** A line that both texts have: where it is in the one, and in the other. */
export type Anchor = readonly [left: number, right: number];

/** The anchors of two texts, in their order. */
export function anchors(left: readonly string[], right: readonly string[]): Anchor[] {
  const there = uniqueLines(right);
  const pairs: Anchor[] = [];
  for (const [line, at] of uniqueLines(left)) {
    const other = there.get(line);
    if (at >= 0 && other !== undefined && other >= 0) pairs.push([at, other]);
  }
  return longestRising(pairs);
}

// Where each line stands; -1 if it stands there more than once.
function uniqueLines(lines: readonly string[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const [index, line] of lines.entries()) found.set(line, found.has(line) ? -1 : index);
  return found;
}

/** The most pairs that rise on both sides; they rise on the left already. */
function longestRising(pairs: readonly Anchor[]): Anchor[] {
  // The last pair of the best run of each length, and what comes before each pair in its best run.
  const ends: number[] = [];
  const before = new Int32Array(pairs.length);
  for (const [index, [, right]] of pairs.entries()) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pairs[ends[middle]!]![1] < right) low = middle + 1;
      else high = middle;
    }
    before[index] = low ? ends[low - 1]! : -1;
    ends[low] = index;
  }
  const run: Anchor[] = [];
  for (let index = ends.at(-1) ?? -1; index >= 0; index = before[index]!) run.push(pairs[index]!);
  return run.toReversed();
}
