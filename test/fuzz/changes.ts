import fc, { type Arbitrary } from "fast-check";
import type { TObject } from "typebox";
import { NAMES_OF_FILES, NAMES_OF_REFS } from "./code-values.ts";
import { gitRequestChange } from "./git-requests.ts";
import { hostileActions, hostileName } from "./hostile-names.ts";
import { hostileHeaders, hostileHost } from "./hostile-headers.ts";
import { hostileJson } from "./hostile-json.ts";
import { hostileQuery, hostileType } from "./hostile-parts.ts";
import { hostileFile } from "./images.ts";
import { hostileSshKey } from "./ssh-keys.ts";
import { BOUNDARY, type Draft, type Encoding, setField, withoutFiles } from "./request.ts";
import { hostileSegment, hostileValue, isFile } from "./values.ts";

/** One change of a request. */
export type Change = (draft: Draft) => void;

const VERBS = [
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
  "TRACE",
  "PROPFIND",
  "QUERY",
  "LINK",
  "M-SEARCH",
  "PURGE",
];
const ENCODINGS: readonly Encoding[] = ["none", "json", "form", "multipart"];

const fieldChange = (names: readonly string[], values = hostileValue): Arbitrary<Change> =>
  fc.tuple(fc.constantFrom(...names), values).map(
    ([name, value]): Change =>
      (draft) =>
        setField(draft, name, value),
  );

const dropped = (names: readonly string[]): Arbitrary<Change> =>
  fc.constantFrom(...names).map((name): Change => (draft) => {
    draft.fields = draft.fields.filter(([known]) => known !== name);
    draft.query = draft.query.filter(([known]) => known !== name);
  });

const repeated = (names: readonly string[]): Arbitrary<Change> =>
  fc.tuple(fc.constantFrom(...names), hostileValue).map(([name, value]): Change => (draft) => {
    draft.fields.push([name, value]);
    draft.query.push([name, "1"]);
  });

const fileChange = (names: readonly string[]): Arbitrary<Change> =>
  fc.tuple(fc.constantFrom(...names), hostileFile).map(([name, file]): Change => (draft) => {
    draft.encoding = "multipart";
    draft.fields = [...draft.fields.filter(([known]) => known !== name), [name, file]];
  });

const verb: Arbitrary<Change> = fc.constantFrom(...VERBS).map((method) => (draft) => void (draft.method = method));

const segment: Arbitrary<Change> = fc
  .tuple(hostileSegment, fc.nat(20), fc.constantFrom("named", "named", "named", "any", "more"))
  .map(([text, at, where]): Change => (draft) => {
    const named = [...draft.places.values()];
    if (where === "more") draft.segments.push(text);
    else if (where === "named" && named.length > 0) draft.segments[named[at % named.length] ?? 0] = text;
    else draft.segments[1 + (at % Math.max(draft.segments.length - 1, 1))] = text;
  });

const address: Arbitrary<Change> = fc
  .constantFrom<(segments: string[]) => string[]>(
    (segments) => [...segments, ""],
    (segments) => segments.flatMap((piece, index) => (index === 1 ? ["", piece] : [piece])),
    (segments) => ["", "", ...segments],
    (segments) => segments.with(-1, `${segments.at(-1)}.json`),
    (segments) => segments.with(-1, `${segments.at(-1)}.xml`),
    (segments) => segments.with(-1, `${segments.at(-1)}/..`),
    (segments) => segments.map((piece) => piece.toUpperCase()),
    (segments) => segments.map((piece) => piece.replace("v4", "v3")),
    (segments) => segments.map((piece) => [...piece].map((letter) => `%${letter.charCodeAt(0).toString(16)}`).join("")),
    (segments) => segments.slice(0, -1),
    () => ["", ""],
    () => [""],
    () => ["*"],
    (segments) => ["http:", "", "localhost", ...segments.slice(1)],
  )
  .map(
    (move): Change =>
      (draft) =>
        void (draft.segments = move(draft.segments)),
  );

const bodyEdit: Arbitrary<Change> = fc
  .tuple(
    fc.constantFrom("cut", "flip", "insert", "append", "mark", "nothing"),
    fc.nat(4000),
    fc.integer({ min: 0, max: 255 }),
  )
  .map(
    ([how, place, byte]): Change =>
      (draft) =>
        void draft.edits.push((body) => {
          const at = place % (body.length + 1);
          if (how === "cut") return body.subarray(0, at);
          if (how === "flip")
            return body.length === 0
              ? body
              : Buffer.concat([body.subarray(0, at), Buffer.of(byte), body.subarray(at + 1)]);
          if (how === "insert") return Buffer.concat([body.subarray(0, at), Buffer.of(byte), body.subarray(at)]);
          if (how === "append") return Buffer.concat([body, Buffer.from("garbage"), Buffer.of(byte)]);
          return how === "mark" ? Buffer.concat([Buffer.from("\ufeff"), body]) : Buffer.alloc(0);
        }),
  );

const PART = `--${BOUNDARY}\r\n`;
const part = (head: string, content = "a") => `${PART}${head}\r\n\r\n${content}\r\n`;
const END = `--${BOUNDARY}--\r\n`;

/** Multipart bodies that are invalid in ways that no change of a valid one produces. */
const MULTIPART: readonly (() => string)[] = [
  () => "",
  () => END,
  () => PART,
  () => part("content-disposition: form-data") + END,
  () => part('content-disposition: form-data; name=""') + END,
  () => part("content-disposition: form-data; name=name") + END,
  () => part('content-disposition: attachment; name="name"') + END,
  () => part('content-disposition: form-data; name="name"'),
  () => part('content-disposition: form-data; name="name"', "a\0b") + END,
  () => part('content-disposition: form-data; name="name"', "\xff\xfe") + END,
  () => part("content-disposition: form-data; name*=UTF-8''n%00me") + END,
  () => part('content-disposition: form-data; name="__proto__[polluted]"', "yes") + END,
  () => part('content-disposition: form-data; name="_charset_"', "utf-16") + END,
  () => part("content-disposition: form-data; name=\"avatar\"; filename*=UTF-8''%00%2e%2e") + END,
  () =>
    part(
      'content-disposition: form-data; name="avatar"; filename="a.png"\r\ncontent-transfer-encoding: base64',
      "aGVsbG8=",
    ) + END,
  () =>
    part(
      'content-disposition: form-data; name="name"\r\ncontent-type: multipart/mixed; boundary=x',
      "--x\r\n\r\na\r\n--x--",
    ) + END,
  () => part(`content-disposition: form-data; name="name"\r\nx-long: ${"a".repeat(20_000)}`) + END,
  () => part(`content-disposition: form-data; name="${"n".repeat(9000)}"`) + END,
  () => part(`content-disposition: form-data; name="a${"[b]".repeat(50)}"`) + END,
  () => `${part('content-disposition: form-data; name="name"').replaceAll("\r\n", "\n")}${END}`,
  () => part('content-disposition: form-data; name="name"').repeat(1001) + END,
  () => part('content-disposition: form-data; name="f"; filename="f"').repeat(5) + END,
  () => `${"-".repeat(5000)}${PART}`,
  () => PART.repeat(2000),
  () =>
    `${part('content-disposition: form-data; name="name"')}${END}${part('content-disposition: form-data; name="name"')}`,
];

const multipart: Arbitrary<Change> = fc.constantFrom(...MULTIPART).map((make) => (draft) => {
  draft.encoding = "multipart";
  draft.body = Buffer.from(make(), "latin1");
});

const json: Arbitrary<Change> = hostileJson.map((body) => (draft) => {
  draft.encoding = "json";
  draft.body = body;
});

const encoding: Arbitrary<Change> = fc.constantFrom(...ENCODINGS).map((encoding) => (draft) => {
  draft.encoding = encoding;
  if (encoding !== "multipart") draft.fields = withoutFiles(draft.fields);
});

const moved: Arbitrary<Change> = fc.constant((draft) => {
  [draft.query, draft.fields] = [withoutFiles(draft.fields), [...draft.fields, ...draft.query]];
  if (draft.encoding === "none") draft.encoding = "json";
});

/** All changes for a request of an endpoint with these parameters; `isGit` if git calls it. */
export function changesFor(
  params: TObject,
  about: { readonly code: boolean; readonly isGit: boolean },
): Arbitrary<Change> {
  const named = Object.keys(params.properties).filter((name) => NAMES_OF_REFS.has(name) || NAMES_OF_FILES.has(name));
  const properties = Object.entries(params.properties);
  const names = [
    ...properties.map(([name]) => name),
    "sudo",
    "private_token",
    "access_token",
    "per_page",
    "unknown",
    "__proto__",
  ];
  const files = properties.filter(([, schema]) => isFile(schema)).map(([name]) => name);
  return fc.oneof(
    { arbitrary: fieldChange(names), weight: 12 },
    { arbitrary: fieldChange(["key"], hostileSshKey), weight: params.properties["usage_type"] ? 8 : 0 },
    {
      arbitrary: fieldChange(named.length > 0 ? named : ["ref"], hostileName),
      weight: about.code && named.length > 0 ? 16 : 0,
    },
    { arbitrary: fieldChange(["actions"], hostileActions), weight: params.properties["actions"] ? 10 : 0 },
    { arbitrary: gitRequestChange, weight: about.isGit ? 30 : 0 },
    { arbitrary: fileChange(files.length > 0 ? files : ["file"]), weight: files.length > 0 ? 6 : 1 },
    { arbitrary: dropped(names), weight: 2 },
    { arbitrary: repeated(names), weight: 2 },
    { arbitrary: verb, weight: 2 },
    { arbitrary: segment, weight: 4 },
    { arbitrary: address, weight: 2 },
    {
      arbitrary: hostileQuery.map(
        (text): Change =>
          (draft) =>
            void draft.rawQuery.push(text),
      ),
      weight: 5,
    },
    {
      arbitrary: hostileHeaders.map(
        (headers): Change =>
          (draft) =>
            void draft.headers.push(...headers),
      ),
      weight: 4,
    },
    {
      arbitrary: hostileType.map(
        (type): Change =>
          (draft) =>
            void (draft.contentType = type),
      ),
      weight: 2,
    },
    {
      arbitrary: hostileHost.map(
        (host): Change =>
          (draft) =>
            void (draft.host = host),
      ),
      weight: 2,
    },
    { arbitrary: json, weight: 4 },
    { arbitrary: multipart, weight: 2 },
    { arbitrary: bodyEdit, weight: 2 },
    { arbitrary: encoding, weight: 1 },
    { arbitrary: moved, weight: 1 },
  );
}
