import { argon2, type Argon2Parameters, randomBytes, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { semaphore } from "./semaphore.ts";

/** Hashes passwords with argon2id, a few at a time, so that hashing does not starve other work. */
export interface Passwords {
  hash(password: string): Promise<string>;
  /** Takes the same time with and without a digest, so that timing does not reveal which accounts exist. */
  verify(password: string, digest: string | null): Promise<Verified>;
}

interface Verified {
  readonly matches: boolean;
  /** Whether the digest was made with another cost than the current one and should be replaced. */
  readonly outdated: boolean;
}

const MAX_WAITING = 50;

interface Cost {
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
}
const CURRENT_COST: Cost = { memory: 19_456, passes: 2, parallelism: 1 };

interface ParsedDigest {
  readonly cost: Cost;
  readonly nonce: Buffer;
  readonly tag: Buffer;
}

const derive: (algorithm: "argon2id", parameters: Argon2Parameters) => Promise<Buffer> = promisify(argon2);

const tagOf = (message: string, nonce: Buffer, cost: Cost, tagLength: number) =>
  derive("argon2id", { message, nonce, tagLength, ...cost });

export function boundedPasswords(maxConcurrent: number): Passwords {
  const limited = semaphore(maxConcurrent, MAX_WAITING);
  /** Stands in for a missing digest; no password matches it. */
  const nobody: ParsedDigest = { cost: CURRENT_COST, nonce: randomBytes(16), tag: randomBytes(32) };
  return {
    hash: (password) =>
      limited(async () => {
        const nonce = randomBytes(16);
        const tag = await tagOf(password, nonce, CURRENT_COST, 32);
        return `$argon2id$v=19$${parametersOf(CURRENT_COST)}$${base64(nonce)}$${base64(tag)}`;
      }),
    verify: (password, digest) =>
      limited(async () => {
        const { cost, nonce, tag } = (digest === null ? undefined : parse(digest)) ?? nobody;
        const matches = timingSafeEqual(await tagOf(password, nonce, cost, tag.length), tag);
        return { matches, outdated: parametersOf(cost) !== parametersOf(CURRENT_COST) };
      }),
  };
}

const parametersOf = ({ memory, passes, parallelism }: Cost) => `m=${memory},t=${passes},p=${parallelism}`;
const DIGEST = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([\w+/]{11,86})\$([\w+/]{16,86})$/;

function parse(digest: string): ParsedDigest | undefined {
  const [, memory, passes, parallelism, nonce, tag] = DIGEST.exec(digest) ?? [];
  if (nonce === undefined || tag === undefined) return undefined;
  const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  return { cost, nonce: Buffer.from(nonce, "base64"), tag: Buffer.from(tag, "base64") };
}

const base64 = (bytes: Buffer) => bytes.toString("base64").replaceAll("=", "");
