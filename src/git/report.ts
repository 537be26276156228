import { FLUSH, MAX_PACKET_DATA_BYTES, packet, packetsIn } from "./pkt-line.ts";
import type { PushCapabilities } from "./push-commands.ts";

/** The result of a push. */
export interface PushReport {
  /** `ok`, or why its objects were refused. */
  readonly unpack: string;
  readonly changed: ReadonlySet<string>;
  /** The reasons why refs were not changed, by ref. */
  readonly problems: ReadonlyMap<string, string>;
}

/** The bands of a side-band stream. */
export const BANDS = { report: 1, progress: 2, failure: 3 } as const;

/** Parses the report that git wrote. */
export function parseReport(bytes: Buffer): PushReport {
  const [first = "", ...lines] = packetsIn(bytes).map((line) => line.toString().replace(/\n$/, ""));
  if (!first.startsWith("unpack ")) throw new Error("the report of a push does not begin with unpack");
  const changed = new Set<string>();
  const problems = new Map<string, string>();
  for (const line of lines) {
    const [word, ref = "", ...reason] = line.split(" ");
    if (word === "ok") changed.add(ref);
    else if (word === "ng") problems.set(ref, reason.join(" "));
  }
  return { unpack: first.slice("unpack ".length), changed, problems };
}

/** Encodes the end of the answer to a push in the form that the client asked for. */
export function encodeReport(
  { unpack, changed, problems }: PushReport,
  { report, sideBand }: PushCapabilities,
): Buffer {
  const lines = [
    `unpack ${unpack}\n`,
    ...[...changed].map((ref) => `ok ${ref}\n`),
    ...[...problems].map(([ref, reason]) => `ng ${ref} ${reason}\n`),
  ];
  const bytes = report ? Buffer.concat([...lines.map(packet), FLUSH]) : Buffer.alloc(0);
  if (!sideBand) return bytes;
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += MAX_PACKET_DATA_BYTES - 1) {
    parts.push(packet(Buffer.concat([Buffer.of(BANDS.report), bytes.subarray(at, at + MAX_PACKET_DATA_BYTES - 1)])));
  }
  return Buffer.concat([...parts, FLUSH]);
}

/** Removes the directory of the repository from a message of git, which names lock files in full. */
export function withoutPaths(message: Buffer): Buffer {
  if (!message.includes("@hashed/")) return message;
  const paths = /(?<=')[^'\n]*@hashed\/[\w/]*\.git\/(?:\.\/)?|[^\s']*@hashed\/[\w/]*\.git\/(?:\.\/)?/g;
  return Buffer.from(message.toString("latin1").replaceAll(paths, ""), "latin1");
}
