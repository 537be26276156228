import { createECDH } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { Readable } from "node:stream";
import { packet, FLUSH, packetsIn } from "#git/pkt-line.ts";
import { type PushRequest, encodePushRequest, readPushRequest } from "#git/push-commands.ts";
import { isObjectId } from "#git/refs.ts";
import { Refusal } from "#lib/refusal.ts";
import { readSshKey } from "#lib/ssh-keys.ts";
import { isSignedByToken, isTokenKind } from "#lib/ssh-signatures.ts";
import { readGitCommand } from "#ssh/commands.ts";
import { damaged, type Random } from "./random.ts";

/** Makes cases for one parser and checks its results. */
export interface Judge {
  readonly name: string;
  make(random: Random): Buffer;
  /** Throws what the parser throws. */
  problemOf(bytes: Buffer, random: Random): Promise<string | undefined> | string | undefined;
}

const PARSERS = { packetsIn, readPushRequest, readSshKey, readGitCommand };

/** Planted defects of parsers, and the problems by which they must be found. */
export const PLANTS: Readonly<Record<string, { readonly sees: RegExp; readonly put: Partial<typeof PARSERS> }>> = {
  "a parser that trusts a length": {
    sees: /packets.*RangeError/,
    put: {
      packetsIn(bytes) {
        bytes.readUInt8(Number.parseInt(bytes.toString("latin1", 0, 4), 16) || 0);
        return packetsIn(bytes);
      },
    },
  },
  "a ref that is not checked": {
    sees: /is no ref/,
    put: {
      async readPushRequest(input) {
        const { changes, ...rest } = await readPushRequest(input);
        return { ...rest, changes: changes.map((change) => ({ ...change, ref: `${change.ref}/..` })) };
      },
    },
  },
  "a comment that is not checked": {
    sees: /control characters/,
    put: {
      readSshKey(text) {
        const read = readSshKey(text.replaceAll(/\p{Cc}/gu, ""));
        return "key" in read ? { key: { ...read.key, comment: text } } : read;
      },
    },
  },
  "a parser that hangs": {
    sees: /hangs/,
    put: {
      readGitCommand(text) {
        for (;;) if (!text.includes("\0")) return readGitCommand(text);
      },
    },
  },
};

/** The checks of all parsers, one of them with the named defect. */
export function judgesOf(plant?: string): readonly Judge[] {
  const parsers = { ...PARSERS, ...(plant !== undefined && PLANTS[plant]?.put) };
  const keys = keysOfAllKinds();
  return [
    {
      name: "pushes",
      make: (random) => damaged(random, random.pick(PUSHES), random.pick(PUSHES)),
      async problemOf(bytes, random) {
        const whole = await refusedOr(() => parsers.readPushRequest(Readable.from([bytes], { objectMode: false })));
        const inParts = await refusedOr(() =>
          parsers.readPushRequest(Readable.from(parts(bytes, random), { objectMode: false })),
        );
        if (!isDeepStrictEqual(whole, inParts)) return "chunks change the result";
        return whole === undefined ? undefined : problemOfRequest(whole);
      },
    },
    {
      name: "packets",
      make: (random) => damaged(random, random.pick(PUSHES), random.pick(PUSHES)),
      async problemOf(bytes) {
        const packets = await refusedOr(() => parsers.packetsIn(bytes));
        if (packets === undefined) return undefined;
        const again = Buffer.concat([...packets.map(packet), FLUSH]);
        // Hexadecimal digits may be in upper or lower case.
        const same = again.toString("latin1").toLowerCase() === bytes.toString("latin1", 0, again.length).toLowerCase();
        return same ? undefined : "its packets are not what was sent";
      },
    },
    {
      name: "keys",
      make: (random) => keyText(random, keys),
      problemOf(bytes) {
        const text = bytes.toString();
        const read = parsers.readSshKey(text);
        if ("problem" in read) return read.problem === "" ? "it is refused without a reason" : undefined;
        const { kind, blob, comment, fingerprintSha256, fingerprintMd5 } = read.key;
        const line = `${kind} ${blob} ${comment}`.trim();
        // oxlint-disable-next-line no-control-regex -- a key is shown and stored without control characters
        if (/[\u0000-\u0008\u000a-\u001f]/.test(line)) return "it has control characters";
        const again = parsers.readSshKey(line);
        if (!("key" in again) || again.key.fingerprintSha256 !== fingerprintSha256) return "it is not read again alike";
        if (!/^[0-9a-f]{2}(:[0-9a-f]{2}){15}$/.test(fingerprintMd5)) return "its fingerprint is none";
        if (isTokenKind(kind) && isSignedByToken(kind, Buffer.from(blob, "base64"), bytes, bytes.subarray(0, 69))) {
          return "anything counts as signed with it";
        }
        return undefined;
      },
    },
    {
      name: "commands",
      make: (random) => damaged(random, random.pick(COMMANDS), random.pick(COMMANDS)),
      problemOf(bytes) {
        const text = bytes.toString();
        const command = parsers.readGitCommand(text);
        if (command === undefined) return undefined;
        const { service, path } = command;
        if (!text.startsWith(`git-${service} `) && !text.startsWith(`git ${service} `))
          return "it is taken for another";
        return path !== "" && text.replaceAll(/'\\([!'])'/g, "$1").includes(path)
          ? undefined
          : "its path is not what was sent";
      },
    },
  ];
}

/** Returns undefined if the input is refused; throws any other error. */
async function refusedOr<T>(read: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

async function problemOfRequest(request: PushRequest): Promise<string | undefined> {
  for (const { ref, oldId, newId } of request.changes) {
    if (!isObjectId(oldId) || !isObjectId(newId)) return "an id is none";
    // oxlint-disable-next-line no-control-regex -- git refuses control characters
    if (!/^refs\/[^/]/.test(ref) || /[\u0000- \u007f~^:?*[\\]|\.\.|@\{|\/\/|\/$|\/\./.test(ref))
      return `'${ref}' is no ref`;
  }
  if (request.changes.length === 0) return undefined;
  const again = await readPushRequest(
    Readable.from([encodePushRequest(request, request.changes)], { objectMode: false }),
  );
  return isDeepStrictEqual(again.changes, request.changes) && isDeepStrictEqual(again.shallow, request.shallow)
    ? undefined
    : "git is handed other changes than were read";
}

function* parts(bytes: Buffer, random: Random): Iterable<Buffer> {
  for (let at = 0; at < bytes.length;) {
    const to = at + 1 + random.below(random.pick([1, 8, 100, 10_000]));
    yield bytes.subarray(at, to);
    at = to;
  }
}

const ID = ["a", "b", "c"].map((digit) => digit.repeat(40));
const ZERO = "0".repeat(40);
const CAPABILITIES = " report-status-v2 side-band-64k quiet atomic object-format=sha1 agent=git/2.39.5";

/** Valid requests of git. */
const PUSHES: readonly Buffer[] = [
  Buffer.concat([
    packet(`${ZERO} ${ID[0]} refs/heads/main\0${CAPABILITIES}`),
    FLUSH,
    Buffer.from("PACK\0\0\0\u0002\0\0\0\0"),
  ]),
  Buffer.concat([
    packet(`${ID[0]} ${ID[1]} refs/heads/main\0${CAPABILITIES}\n`),
    packet(`${ID[1]} ${ZERO} refs/heads/feature/one\n`),
    packet(`${ZERO} ${ID[2]} refs/tags/v1.0\n`),
    FLUSH,
  ]),
  Buffer.concat([
    packet(`shallow ${ID[2]}`),
    packet(`${ZERO} ${ID[0]} refs/heads/größe\0${CAPABILITIES} push-options`),
    FLUSH,
    packet("ci.skip"),
    packet("title=a; b\n"),
    FLUSH,
  ]),
  Buffer.concat([
    ...Array.from({ length: 40 }, (_, n) =>
      packet(`${ZERO} ${ID[0]} refs/heads/b-${n}${n === 0 ? `\0${CAPABILITIES}` : ""}`),
    ),
    FLUSH,
  ]),
  FLUSH,
  Buffer.concat([packet(`push-cert\0${CAPABILITIES}\n`), packet("certificate version 0.1\n"), FLUSH]),
];

const COMMANDS = [
  "git-upload-pack 'group/project.git'",
  "git-receive-pack '/group/sub/project.git'",
  "git upload-pack 'a/b'",
  "git-upload-pack a/b.git",
  "git-upload-archive 'group/project.git'",
  "git-upload-pack 'it'\\''s/p.git'",
  "git-lfs-authenticate 'group/project.git' download",
].map((text) => Buffer.from(text));

const field = (content: Buffer | string) => {
  const bytes = Buffer.from(content as string);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
};
/** A fixed point of a curve. */
function point(curve: string, bytes: number): Buffer {
  const secret = createECDH(curve);
  secret.setPrivateKey(Buffer.alloc(bytes, 1));
  return secret.getPublicKey();
}

/** A key of each type. */
function keysOfAllKinds(): { readonly kind: string; readonly blob: Buffer }[] {
  const modulus = Buffer.concat([Buffer.of(0), Buffer.alloc(256, 0xc7)]);
  const kinds: readonly (readonly [kind: string, ...fields: (Buffer | string)[]])[] = [
    ["ssh-rsa", Buffer.of(1, 0, 1), modulus],
    ["ssh-ed25519", Buffer.alloc(32, 9)],
    ["ecdsa-sha2-nistp256", "nistp256", point("prime256v1", 32)],
    ["ecdsa-sha2-nistp384", "nistp384", point("secp384r1", 48)],
    ["ecdsa-sha2-nistp521", "nistp521", point("secp521r1", 65)],
    ["sk-ssh-ed25519@openssh.com", Buffer.alloc(32, 9), "ssh:"],
    ["sk-ecdsa-sha2-nistp256@openssh.com", "nistp256", point("prime256v1", 32), "ssh:"],
    ["ssh-dss", ...Array.from({ length: 4 }, () => Buffer.alloc(128, 1))],
  ];
  return kinds.map(([kind, ...fields]) => ({ kind, blob: Buffer.concat([kind, ...fields].map(field)) }));
}

/** A key that is damaged inside, in its line, or in both. */
function keyText(random: Random, keys: ReturnType<typeof keysOfAllKinds>): Buffer {
  const { kind, blob } = random.pick(keys);
  const inside = random.below(3) === 0 ? blob : damaged(random, blob, random.pick(keys).blob);
  const line = Buffer.from(
    `${kind} ${inside.toString("base64")} ${random.pick(["", "ada@example.com", "Ada's  laptop"])}`,
  );
  return random.below(3) > 0 ? line : damaged(random, line, Buffer.from(random.pick(keys).kind));
}
