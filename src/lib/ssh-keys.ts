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

/** A parsed key, or a problem worded to follow the field name "key". */
type ParseResult = { readonly key: SshKey } | { readonly problem: string };

const MAX_KEY_LENGTH = 16_384;
const MIN_RSA_BITS = 2048;
const MAX_RSA_BITS = 16_384;
const MAX_EXPONENT_BITS = 64;

export const FORBIDDEN_TYPE = "type is forbidden. Must be RSA, ECDSA, ED25519, ECDSA_SK, or ED25519_SK";

/** Parses a public key strictly: a form that OpenSSH would not write is refused. */
export function readSshKey(text: string): ParseResult {
  try {
    return { key: keyOf(text) };
  } catch (error) {
    if (error instanceof InvalidKey) return { problem: error.message };
    throw error;
  }
}

class InvalidKey extends Error {}
const invalid = (reason: string) => new InvalidKey(`is invalid: ${reason}`);

function keyOf(text: string): SshKey {
  if (text.length > MAX_KEY_LENGTH) throw new InvalidKey(`is too long (maximum is ${MAX_KEY_LENGTH} characters)`);
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

const refusedKind = (kind: string): InvalidKey =>
  // A line of an authorized_keys file may begin with options.
  /[=,"]/.test(kind) || /^(?:restrict|no-|cert-authority)/.test(kind)
    ? invalid("it must begin with its type, without options")
    : new InvalidKey(FORBIDDEN_TYPE);

/** Reads the fields that follow the type, by kind of key, and returns the key's size in bits. */
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
  if (bits < MIN_RSA_BITS) throw new InvalidKey(`must be at least ${MIN_RSA_BITS} bits`);
  if (bits > MAX_RSA_BITS) throw new InvalidKey(`must be at most ${MAX_RSA_BITS} bits`);
  const isOdd = (number: Buffer) => (number.at(-1) ?? 0) % 2 === 1;
  const size = bitsOf(exponent);
  if (!isOdd(modulus) || !isOdd(exponent) || size < 2 || size > MAX_EXPONENT_BITS) {
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

/** A key on a security token also names its application. */
function onToken(fields: Fields, bits: number): number {
  if (fields.next().length === 0) throw invalid("it names no application");
  return bits;
}

type Fields = ReturnType<typeof fieldsOf>;

/** Reads the fields of a blob in order: each is a four-byte length and that many bytes. */
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
    /** A positive number in canonical form: a leading zero byte only where the first bit would be set. */
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
