import { argon2, type Argon2Parameters, randomBytes, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { semaphore } from "./semaphore.ts";

/** Hashes passwords with argon2id, a few at a time, so that they do not starve everything else. */
export interface Passwords {
  hash(password: string): Promise<string>;
  /** Takes as long without a digest as with one, so that the time tells nobody which names exist. */
  verify(password: string, digest: string | null): Promise<Verified>;
}

interface Verified {
  readonly matches: boolean;
  /** Whether the digest was made at another cost than is usual now, and should be made anew. */
  readonly outdated: boolean;
}

const MOST_WAITING = 50;

interface Cost {
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
}
const COST: Cost = { memory: 19_456, passes: 2, parallelism: 1 };

interface Kept {
  readonly cost: Cost;
  readonly nonce: Buffer;
  readonly tag: Buffer;
}

const derive: (algorithm: "argon2id", parameters: Argon2Parameters) => Promise<Buffer> = promisify(argon2);

const tagOf = (message: string, nonce: Buffer, cost: Cost, tagLength: number) =>
  derive("argon2id", { message, nonce, tagLength, ...cost });

export function boundedPasswords(atOnce: number): Passwords {
  const inTurn = semaphore(atOnce, MOST_WAITING);
  /** What stands in for a digest that is not there; no password leads to it. */
  const nobody: Kept = { cost: COST, nonce: randomBytes(16), tag: randomBytes(32) };
  return {
    hash: (password) =>
      inTurn(async () => {
        const nonce = randomBytes(16);
        const tag = await tagOf(password, nonce, COST, 32);
        return `$argon2id$v=19$${parametersOf(COST)}$${base64(nonce)}$${base64(tag)}`;
      }),
    verify: (password, digest) =>
      inTurn(async () => {
        const { cost, nonce, tag } = (digest === null ? undefined : read(digest)) ?? nobody;
        const matches = timingSafeEqual(await tagOf(password, nonce, cost, tag.length), tag);
        return { matches, outdated: parametersOf(cost) !== parametersOf(COST) };
      }),
  };
}

const parametersOf = ({ memory, passes, parallelism }: Cost) => `m=${memory},t=${passes},p=${parallelism}`;
const DIGEST = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([\w+/]{11,86})\$([\w+/]{16,86})$/;

function read(digest: string): Kept | undefined {
  const [, memory, passes, parallelism, nonce, tag] = DIGEST.exec(digest) ?? [];
  if (nonce === undefined || tag === undefined) return undefined;
  const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  return { cost, nonce: Buffer.from(nonce, "base64"), tag: Buffer.from(tag, "base64") };
}

const base64 = (bytes: Buffer) => bytes.toString("base64").replaceAll("=", "");
