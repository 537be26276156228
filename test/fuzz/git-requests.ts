import { hash } from "node:crypto";
import { gzipSync } from "node:zlib";
import fc, { type Arbitrary } from "fast-check";
import type { Endpoint } from "#http/endpoint.ts";
import { type Code, SPARE, spareBranch } from "./code.ts";
import { hostileName } from "./hostile-names.ts";
import type { Draft } from "./request.ts";

/** The headers and body that git sends. */
export interface GitRequest {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: Buffer;
}

const ZERO = "0".repeat(40);
const FLUSH = Buffer.from("0000");
const DELIMITER = Buffer.from("0001");
const V2 = ["git-protocol", "version=2"] as const;

function packet(data: string): Buffer {
  const bytes = Buffer.from(data);
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, "0")), bytes]);
}

const EMPTY_PACK = Buffer.from("PACK\0\0\0\x02\0\0\0\0", "latin1");
const withDigest = (pack: Buffer) => Buffer.concat([pack, Buffer.from(hash("sha1", pack, "hex"), "hex")]);

/** Valid requests of git to one of its endpoints; undefined for other endpoints. */
export function gitRequestFor(endpoint: Endpoint, code: Code): Arbitrary<GitRequest> | undefined {
  if (endpoint.path.endsWith("/info/refs")) return protocol.map((headers) => ({ headers }));
  if (endpoint.path.endsWith("/git-upload-pack")) return maybeCompressed(fetching(code));
  return endpoint.path.endsWith("/git-receive-pack") ? maybeCompressed(pushing(code)) : undefined;
}

export const typeFor = ({ path }: Endpoint) => `application/x-${path.split("/").at(-1)}-request`;

const protocol: Arbitrary<GitRequest["headers"]> = fc.constantFrom<GitRequest["headers"]>(
  [],
  [V2],
  [["git-protocol", "version=1"]],
  [["git-protocol", "version=0"]],
);

/** Git compresses large requests, and may compress small ones. */
const maybeCompressed = (gitRequest: Arbitrary<GitRequest>): Arbitrary<GitRequest> =>
  fc
    .tuple(gitRequest, fc.nat(9))
    .map(([said, turn]) =>
      turn === 0 && said.body
        ? { headers: [...said.headers, ["content-encoding", "gzip"]], body: gzipSync(said.body) }
        : said,
    );

function fetching({ commits, topics }: Code): Arbitrary<GitRequest> {
  const known = [...commits.slice(-3), ...topics.map(({ commit }) => commit)];
  const id = fc.constantFrom(...known);
  const had = fc.constantFrom(...commits.slice(0, 4));
  const first = fc
    .record({
      want: fc.array(id, { minLength: 1, maxLength: 3 }),
      have: fc.array(had, { maxLength: 3 }),
      words: fc.constantFrom(
        "ofs-delta",
        "side-band-64k ofs-delta thin-pack",
        "multi_ack_detailed no-done side-band-64k",
        "no-progress include-tag",
      ),
      deepen: fc.constantFrom("", "", "deepen 1\n", "filter blob:none\n"),
    })
    .map(({ want, have, words, deepen }) => {
      const more = deepen.startsWith("deepen") ? " shallow" : deepen === "" ? "" : " filter";
      return {
        headers: [],
        body: Buffer.concat([
          ...want.map((wanted, at) => packet(`want ${wanted}${at === 0 ? ` ${words}${more}` : ""}\n`)),
          ...(deepen === "" ? [] : [packet(deepen)]),
          FLUSH,
          ...have.map((known) => packet(`have ${known}\n`)),
          packet("done\n"),
        ]),
      };
    });
  const listing = fc
    .constantFrom(["peel", "symrefs"], ["ref-prefix refs/heads/"], ["unborn", "ref-prefix HEAD"])
    .map((lines) => ({
      headers: [V2],
      body: Buffer.concat([
        packet("command=ls-refs\n"),
        packet("object-format=sha1"),
        DELIMITER,
        ...lines.map((line) => packet(`${line}\n`)),
        FLUSH,
      ]),
    }));
  const second = fc
    .record({
      want: id,
      have: fc.array(had, { maxLength: 3 }),
      more: fc.subarray(["thin-pack", "ofs-delta", "no-progress", "deepen 1", "include-tag"]),
    })
    .map(({ want, have, more }) => ({
      headers: [V2],
      body: Buffer.concat([
        packet("command=fetch"),
        packet("agent=git/2.39.5"),
        DELIMITER,
        ...[...more, `want ${want}`, ...have.map((known) => `have ${known}`), "done"].map((line) =>
          packet(`${line}\n`),
        ),
        FLUSH,
      ]),
    }));
  return fc.oneof(first, listing, second);
}

type Change = readonly [oldId: string, newId: string, ref: string];

/** The list of a push and its pack. */
function pushOf(changes: readonly Change[], words: string, pack: Buffer): Buffer {
  const lines = changes.map(([oldId, newId, ref], at) =>
    packet(`${oldId} ${newId} ${ref}${at === 0 ? `\0 ${words}` : ""}`),
  );
  const options = words.includes("push-options") ? [packet("ci.skip"), FLUSH] : [];
  return Buffer.concat([...lines, FLUSH, ...options, pack]);
}

const words = fc.constantFrom(
  "report-status side-band-64k object-format=sha1 agent=git/2.39.5",
  "report-status-v2 side-band-64k quiet",
  "report-status",
  "report-status side-band-64k atomic",
  "report-status side-band-64k push-options",
);

function pushing({ commits, newCommit }: Code): Arbitrary<GitRequest> {
  const [last = ""] = commits.slice(-1);
  // All spare branches start one commit before the merge.
  const [spare = ""] = commits.slice(-2);
  const fresh = fc.nat(2 ** 31).map((number) => `fz-${number.toString(36)}`);
  const said = (changes: readonly Change[], wish: string, pack: Buffer): GitRequest => ({
    headers: [],
    body: pushOf(changes, wish, pack),
  });
  return fc.oneof(
    {
      arbitrary: fc
        .tuple(fresh, words)
        .map(([name, wish]) => said([[ZERO, newCommit.commit, `refs/heads/${name}`]], wish, newCommit.pack)),
      weight: 4,
    },
    {
      arbitrary: fc
        .tuple(fresh, words)
        .map(([name, wish]) => said([[ZERO, last, `refs/tags/${name}`]], wish, withDigest(EMPTY_PACK))),
      weight: 2,
    },
    {
      arbitrary: words.map((wish) => said([[last, newCommit.commit, "refs/heads/main"]], wish, newCommit.pack)),
      weight: 1,
    },
    {
      arbitrary: fc
        .tuple(fc.constantFrom(...SPARE), words)
        .map(([at, wish]) => said([[spare, ZERO, `refs/heads/${spareBranch(at)}`]], wish, Buffer.alloc(0))),
      weight: 1,
    },
    {
      arbitrary: fc.tuple(fc.uniqueArray(fresh, { minLength: 2, maxLength: 6 }), words).map(([names, wish]) =>
        said(
          names.map((name, at): Change => [
            ZERO,
            at % 2 === 0 ? newCommit.commit : last,
            `refs/${at % 2 === 0 ? "heads" : "tags"}/${name}`,
          ]),
          wish,
          newCommit.pack,
        ),
      ),
      weight: 1,
    },
    { arbitrary: fc.constant({ headers: [], body: FLUSH }), weight: 1 },
  );
}

const IDS = [ZERO, "1".repeat(40), "f".repeat(40), "x".repeat(40), "0".repeat(39), "0".repeat(64), "", "HEAD"];

/** Packets with a wrong length, and lists that no client sends. */
const LISTS: readonly (() => Buffer)[] = [
  () => Buffer.alloc(0),
  () => Buffer.from("0"),
  () => Buffer.from("0004"),
  () => Buffer.from("0003"),
  () => Buffer.from("0001"),
  () => Buffer.from("0002"),
  () => Buffer.from("-001"),
  () => Buffer.from("zzzz"),
  () => Buffer.from("ffff"),
  () => Buffer.from(`fff0${"a".repeat(65_516)}`),
  () => Buffer.from(`fff1${"a".repeat(65_517)}`),
  () => Buffer.from("00000000"),
  () => Buffer.concat([packet("\n"), FLUSH]),
  () => Buffer.concat([packet("\0"), FLUSH]),
  () => Buffer.concat([packet("shallow x"), FLUSH]),
  () => Buffer.concat([packet(`shallow ${ZERO}`), FLUSH]),
  () => Buffer.concat([packet("push-cert\0a"), packet("certificate version 0.1\n"), FLUSH]),
  () => Buffer.concat([packet(`${ZERO} ${ZERO} refs/heads/x\0report-status`), FLUSH]),
  () => Buffer.concat([packet(`${ZERO} ${"1".repeat(40)} refs/heads/x\0report-status`), FLUSH]),
  () => Buffer.concat([packet(`${ZERO} ${"1".repeat(40)} refs/heads/x\0object-format=sha256 report-status`), FLUSH]),
  () => Buffer.concat([packet(`${ZERO} ${"1".repeat(40)} refs/heads/x\0push-options`), FLUSH, packet("a\nb"), FLUSH]),
  () => Buffer.concat([Buffer.from("0039"), Buffer.from(`${ZERO} \xff\xfe\xfd refs/heads/x`, "latin1"), FLUSH]),
  () =>
    Buffer.concat([
      ...Array.from({ length: 3000 }, (_, at) => packet(`${ZERO} ${"1".repeat(40)} refs/heads/x${at}`)),
      FLUSH,
    ]),
  () => Buffer.concat([packet(`want ${"1".repeat(40)}\n`), FLUSH, packet("done\n")]),
  () => Buffer.concat([packet("want HEAD\n"), FLUSH, packet("done\n")]),
  () => Buffer.concat([packet("command=bundle-uri\n"), FLUSH]),
  () => Buffer.concat([packet("command=object-info\n"), DELIMITER, packet("size\n"), packet(`oid ${ZERO}\n`), FLUSH]),
  () =>
    Buffer.concat([packet("command=fetch"), DELIMITER, packet("want-ref refs/heads/main\n"), packet("done\n"), FLUSH]),
  () => Buffer.concat([packet("command=fetch"), DELIMITER, packet(`want ${ZERO}\n`), packet("done\n"), FLUSH]),
  () => Buffer.concat([packet("command=ls-refs\n"), packet("server-option=--upload-pack=id"), FLUSH]),
];

/** Changes of git's requests: wrong lengths, names and ids, and bodies that are compressed or claim to be. */
export const gitRequestChange: Arbitrary<(draft: Draft) => void> = fc.oneof(
  fc.constantFrom(...LISTS).map((make) => (draft: Draft) => void (draft.body = make())),
  fc
    .tuple(
      hostileName,
      fc.constantFrom(...IDS),
      fc.constantFrom(...IDS),
      fc.constantFrom("refs/heads/", "refs/tags/", "refs/", ""),
    )
    .map(([name, oldId, newId, kind]) => (draft: Draft) => {
      draft.body = pushOf([[oldId, newId, kind + name]], "report-status side-band-64k", withDigest(EMPTY_PACK));
    }),
  fc.constant((draft: Draft) => {
    draft.headers.push(["content-encoding", "gzip"]);
    draft.body = gzipSync(Buffer.alloc(8 * 1024 * 1024));
  }),
  fc
    .constantFrom("gzip", "x-gzip", "deflate", "br", "gzip, gzip")
    .map((coding) => (draft: Draft) => void draft.headers.push(["content-encoding", coding])),
  fc
    .constantFrom(
      "version=2",
      "version=3",
      "version=2:x",
      "",
      "version=2\tversion=1",
      "a".repeat(5000),
      ":::::",
      "version=-1",
    )
    .map((version) => (draft: Draft) => void draft.headers.push(["git-protocol", version])),
  fc.tuple(fc.nat(3000), fc.integer({ min: 0, max: 255 }), fc.constantFrom("set", "cut", "more")).map(
    ([place, byte, how]) =>
      (draft: Draft) =>
        void draft.edits.push((body) => {
          const at = place % (body.length + 1);
          if (how === "cut") return body.subarray(0, at);
          if (how === "more") return Buffer.concat([body, Buffer.alloc(at, byte)]);
          return Buffer.concat([body.subarray(0, at), Buffer.of(byte), body.subarray(at + 1)]);
        }),
  ),
);
