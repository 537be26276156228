import { FLUSH, MOST_DATA, packet, packetsIn } from "./pkt-line.ts";
import type { PushWishes } from "./push-commands.ts";

/** What became of a push. */
export interface PushReport {
  /** `ok`, or why its objects were refused. */
  readonly unpack: string;
  readonly changed: ReadonlySet<string>;
  /** Why refs were not changed, by their names. */
  readonly problems: ReadonlyMap<string, string>;
}

/** Which of the three streams in one a packet belongs to. */
export const BANDS = { report: 1, progress: 2, failure: 3 } as const;

/** The report as git wrote it. */
export function parseReport(bytes: Buffer): PushReport {
  const [first = "", ...lines] = packetsIn(bytes).map((line) => line.toString().replace(/\n$/, ""));
  if (!first.startsWith("unpack ")) throw new Error("the report of a push does not begin as one");
  const changed = new Set<string>();
  const problems = new Map<string, string>();
  for (const line of lines) {
    const [word, ref = "", ...reason] = line.split(" ");
    if (word === "ok") changed.add(ref);
    else if (word === "ng") problems.set(ref, reason.join(" "));
  }
  return { unpack: first.slice("unpack ".length), changed, problems };
}

/** The end of the answer to a push, in the form that the client asked for. */
export function encodeReport({ unpack, changed, problems }: PushReport, { report, sideBand }: PushWishes): Buffer {
  const lines = [
    `unpack ${unpack}\n`,
    ...[...changed].map((ref) => `ok ${ref}\n`),
    ...[...problems].map(([ref, reason]) => `ng ${ref} ${reason}\n`),
  ];
  const bytes = report ? Buffer.concat([...lines.map(packet), FLUSH]) : Buffer.alloc(0);
  if (!sideBand) return bytes;
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += MOST_DATA - 1) {
    parts.push(packet(Buffer.concat([Buffer.of(BANDS.report), bytes.subarray(at, at + MOST_DATA - 1)])));
  }
  return Buffer.concat([...parts, FLUSH]);
}

/** What git says without where the repository is kept, which is nobody's to know: a lock in its way it names in full. */
export function withoutPlaces(said: Buffer): Buffer {
  if (!said.includes("@hashed/")) return said;
  const places = /(?<=')[^'\n]*@hashed\/[\w/]*\.git\/(?:\.\/)?|[^\s']*@hashed\/[\w/]*\.git\/(?:\.\/)?/g;
  return Buffer.from(said.toString("latin1").replaceAll(places, ""), "latin1");
}
