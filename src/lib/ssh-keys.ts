import { createPublicKey, hash } from "node:crypto";

/** A public key as OpenSSH writes it in one line: `kind blob comment`. */
export interface SshKey {
  readonly kind: string;
  /** The middle of the line, in base64. */
  readonly blob: string;
  readonly bits: number;
  readonly comment: string;
  /** Colon hex. Made only when it is asked for: FIPS mode has no MD5. */
  readonly fingerprintMd5: string;
  readonly fingerprintSha256: string;
}

/** What a text turned out to be: a key, or what is wrong with it, to be read behind the word "key". */
type Reading = { readonly key: SshKey } | { readonly problem: string };

const MOST_CHARACTERS = 16_384;
const LEAST_RSA_BITS = 2048;
const MOST_RSA_BITS = 16_384;
const MOST_EXPONENT_BITS = 64;

export const FORBIDDEN_TYPE = "type is forbidden. Must be RSA, ECDSA, ED25519, ECDSA_SK, or ED25519_SK";

/** Reads a public key strictly: what OpenSSH itself would not have written is refused. */
export function readSshKey(text: string): Reading {
  try {
    return { key: keyOf(text) };
  } catch (error) {
    if (error instanceof Wrong) return { problem: error.message };
    throw error;
  }
}

class Wrong extends Error {}
const invalid = (reason: string) => new Wrong(`is invalid: ${reason}`);

function keyOf(text: string): SshKey {
  if (text.length > MOST_CHARACTERS) throw new Wrong(`is too long (maximum is ${MOST_CHARACTERS} characters)`);
  const line = text.trim();
  refuseOtherFormats(line);
  if (/[\r\n\u2028\u2029]/.test(line)) throw invalid("it must be one line");
  if (/(?!\t)\p{Cc}/u.test(line)) throw invalid("it has control characters");
  const [, kind = "", blob = "", comment = ""] = /^([^ \t]*)[ \t]*([^ \t]*)[ \t]*(.*)$/.exec(line) ?? [];
  const read = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  if (!read) throw refusedKind(kind);
  if (blob === "") throw invalid("nothing follows its type");
  const bytes = Buffer.from(blob, "base64");
  if (bytes.toString("base64") !== blob) throw invalid("what follows its type is not base64");
  const fields = fieldsOf(bytes);
  if (fields.text() !== kind) throw invalid("the type inside is not the one in front");
  const bits = read(fields);
  if (!fields.atEnd()) throw invalid("something follows the key inside");
  return {
    kind,
    blob,
    bits,
    comment,
    get fingerprintMd5() {
      return hash("md5", bytes, "hex").replaceAll(/..(?!$)/g, "$&:");
    },
    fingerprintSha256: `SHA256:${hash("sha256", bytes, "base64").replaceAll("=", "")}`,
  };
}

function refuseOtherFormats(line: string) {
  if (/PRIVATE KEY-----|^PuTTY-User-Key-File/.test(line)) {
    throw invalid("it is a private key, which must stay with its owner; send what is in the .pub file");
  }
  if (/^---- BEGIN SSH2|^-----BEGIN/.test(line)) {
    throw invalid("it must be in OpenSSH's format; `ssh-keygen -i` converts others");
  }
}

const refusedKind = (kind: string): Wrong =>
  // A line of an authorized_keys file may begin with what the key is allowed to do.
  /[=,"]/.test(kind) || /^(?:restrict|no-|cert-authority)/.test(kind)
    ? invalid("it must begin with its type, without options")
    : new Wrong(FORBIDDEN_TYPE);

/** How the fields behind its type are read, for each kind of key; they give its bits. */
const KINDS: Readonly<Record<string, (fields: Fields) => number>> = {
  "ssh-rsa": rsa,
  "ssh-ed25519": ed25519,
  "ecdsa-sha2-nistp256": (fields) => ecdsa(fields, "nistp256"),
  "ecdsa-sha2-nistp384": (fields) => ecdsa(fields, "nistp384"),
  "ecdsa-sha2-nistp521": (fields) => ecdsa(fields, "nistp521"),
  "sk-ssh-ed25519@openssh.com": (fields) => onToken(fields, ed25519(fields)),
  "sk-ecdsa-sha2-nistp256@openssh.com": (fields) => onToken(fields, ecdsa(fields, "nistp256")),
};

function rsa(fields: Fields): number {
  const exponent = fields.positive();
  const modulus = fields.positive();
  const bits = bitsOf(modulus);
  if (bits < LEAST_RSA_BITS) throw new Wrong(`must be at least ${LEAST_RSA_BITS} bits`);
  if (bits > MOST_RSA_BITS) throw new Wrong(`must be at most ${MOST_RSA_BITS} bits`);
  const isOdd = (number: Buffer) => (number.at(-1) ?? 0) % 2 === 1;
  const size = bitsOf(exponent);
  if (!isOdd(modulus) || !isOdd(exponent) || size < 2 || size > MOST_EXPONENT_BITS) {
    throw invalid("its numbers are not those of an RSA key");
  }
  return bits;
}

const CURVES = {
  nistp256: { crv: "P-256", bytes: 32, bits: 256 },
  nistp384: { crv: "P-384", bytes: 48, bits: 384 },
  nistp521: { crv: "P-521", bytes: 66, bits: 521 },
} as const;

function ecdsa(fields: Fields, name: keyof typeof CURVES): number {
  const { crv, bytes, bits } = CURVES[name];
  if (fields.text() !== name) throw invalid("its curve is not that of its type");
  const point = fields.next();
  const uncompressed = 4;
  if (point.length !== 1 + 2 * bytes || point[0] !== uncompressed || !isOnCurve(crv, point.subarray(1))) {
    throw invalid("it is not a point of its curve");
  }
  return bits;
}

function isOnCurve(crv: string, coordinates: Buffer): boolean {
  const middle = coordinates.length / 2;
  const x = coordinates.toString("base64url", 0, middle);
  const y = coordinates.toString("base64url", middle);
  try {
    createPublicKey({ format: "jwk", key: { kty: "EC", crv, x, y } });
    return true;
  } catch {
    return false;
  }
}

function ed25519(fields: Fields): number {
  if (fields.next().length !== 32) throw invalid("an ED25519 key has 32 bytes");
  return 256;
}

/** A key in a security token also names the application that it is for. */
function onToken(fields: Fields, bits: number): number {
  if (fields.next().length === 0) throw invalid("it names no application");
  return bits;
}

type Fields = ReturnType<typeof fieldsOf>;

/** Reads the fields of a blob one after the other: each is its length in four bytes, and so many bytes. */
export function fieldsOf(bytes: Buffer) {
  let rest = bytes;
  const next = (): Buffer => {
    const length = rest.length < 4 ? Infinity : rest.readUInt32BE(0);
    if (length > rest.length - 4) throw invalid("it is cut off");
    const field = rest.subarray(4, 4 + length);
    rest = rest.subarray(4 + length);
    return field;
  };
  return {
    next,
    atEnd: () => rest.length === 0,
    text: () => next().toString("latin1"),
    /** A number in its only form: above zero, with a zero byte in front where its first bit is set and nowhere else. */
    positive(): Buffer {
      const field = next();
      const [first = 0, second = 0] = field;
      if (field.length === 0 || first >= 0x80 || (first === 0 && second < 0x80)) {
        throw invalid("a number in it is not written as it must be");
      }
      return first === 0 ? field.subarray(1) : field;
    },
  };
}

const bitsOf = (number: Buffer) => number.length * 8 - (Math.clz32(number[0] ?? 0) - 24);
