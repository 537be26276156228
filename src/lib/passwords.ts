import { argon2, type Argon2Parameters, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { takeTurns } from "./turns.ts";

/** Hashes passwords with argon2id, a few at a time, so that they do not starve everything else. */
export interface Passwords {
  hash(password: string): Promise<string>;
}

const MEMORY = 19_456;
const PASSES = 2;
const MOST_WAITING = 50;

const derive: (algorithm: "argon2id", parameters: Argon2Parameters) => Promise<Buffer> = promisify(argon2);

export function boundedPasswords(atOnce: number): Passwords {
  const inTurn = takeTurns(atOnce, MOST_WAITING);
  return {
    hash: (password) =>
      inTurn(async () => {
        const nonce = randomBytes(16);
        const parameters = { message: password, nonce, parallelism: 1, tagLength: 32, memory: MEMORY, passes: PASSES };
        const tag = await derive("argon2id", parameters);
        return `$argon2id$v=19$m=${MEMORY},t=${PASSES},p=1$${base64(nonce)}$${base64(tag)}`;
      }),
  };
}

const base64 = (bytes: Buffer) => bytes.toString("base64").replaceAll("=", "");
