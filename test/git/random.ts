/** Pseudo-random numbers, the same for the same seed. */
export interface Random {
  /** A whole number below `limit`. */
  below(limit: number): number;
  pick<T>(values: readonly T[]): T;
  bytes(length: number): Buffer;
}

export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  // Mulberry32: 32 bits of state, and good enough to choose where a case is damaged.
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const below = (limit: number) => next() % limit;
  return {
    below,
    pick: <T>(values: readonly T[]) => values[below(values.length)] as T,
    bytes: (length) => Buffer.from(Array.from({ length }, () => next() & 0xff)),
  };
}

/** Inserted into cases: lengths, separators, and text with a meaning for other programs. */
const ODD: readonly string[] = [
  ...["0000", "0001", "0002", "0003", "0004", "0005", "ffff", "fff0", "fff1", "FFFF", "00000", "-001", "0x10", "  10"],
  ...["\0", "\n", "\r\n", " ", "\t", "'", '"', "\\", ";", "`", "$(a)", "..", "/", "//", ".lock", "@{", "~", "^", "--"],
  ...["refs/", "refs/heads/", "refs/heads/-x", "HEAD", "shallow ", "push-cert", "push-options", "object-format=sha256"],
  ...["ssh-rsa", "ssh-dss", "AAAA", "====", "\u{1f600}", "\u2028", "\u00ad", "\ufeff", "\u202e", "\u0130", "\u0000"],
  ..."0".repeat(40),
].map(String);

/** Damages bytes in a few places, in ways that trip parsers of lengths and lists. */
export function damaged(random: Random, whole: Buffer, another: Buffer): Buffer {
  let bytes = whole;
  for (let left = random.below(4); left > 0; left--) {
    const at = random.below(bytes.length + 1);
    const to = Math.min(bytes.length, at + random.below(1 + random.pick([1, 4, 40, bytes.length])));
    const [before, middle, after] = [bytes.subarray(0, at), bytes.subarray(at, to), bytes.subarray(to)];
    const from = random.below(another.length + 1);
    const put = random.pick([
      () => [before, after],
      () => [before, middle, middle, after],
      () => [before, random.bytes(middle.length), after],
      () => [before, random.bytes(1 + random.below(8)), middle, after],
      () => [before, Buffer.from(random.pick(ODD)), after],
      () => [before, Buffer.from(random.pick(ODD)), middle, after],
      () => [before, another.subarray(from, from + random.below(200)), after],
      () => [before, another.subarray(from)],
      () => [before],
    ]);
    bytes = Buffer.concat(put()).subarray(0, MAX_BYTES);
  }
  return bytes;
}

/** Repeated doubling must not make huge cases. */
const MAX_BYTES = 100_000;
