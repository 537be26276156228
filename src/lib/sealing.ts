import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { SealingKey } from "./sealing-key.ts";

/** Seals what must be kept but not read by whoever sees the database. */
export interface Sealing {
  /** `place` says where it is kept, such as `second_factors.sealed_secret 7`: moved elsewhere it does not open. */
  seal(text: string, place: string): Promise<Buffer>;
  unseal(sealed: Buffer, place: string): Promise<string>;
  /** A secret of 256 bits that is the same each time for the same words, and that nobody without the key can tell. */
  derive(words: string): Promise<Buffer>;
}

const NONCE = 12;
const TAG = 16;

/** The key is asked for at the first use, since most processes never need it. */
export function sealingBy(ensureKey: () => Promise<SealingKey>): Sealing {
  let reading: Promise<SealingKey> | undefined;
  const known = () => {
    reading ??= ensureKey();
    // A failed read is not kept.
    reading.catch(() => (reading = undefined));
    return reading;
  };
  return {
    async seal(text, place) {
      const { id, key } = await known();
      const nonce = randomBytes(NONCE);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(`${id} ${place}`));
      const body = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      return Buffer.concat([Buffer.from(`${id}:`), nonce, cipher.getAuthTag(), body]);
    },
    async derive(words) {
      const { key } = await known();
      return Buffer.from(hkdfSync("sha256", key, "", words, 32));
    },
    async unseal(sealed, place) {
      const { id, key } = await known();
      const start = id.length + 1;
      if (sealed.toString("latin1", 0, start) !== `${id}:`) throw new Error("it was sealed with another key");
      const nonce = sealed.subarray(start, start + NONCE);
      const tag = sealed.subarray(start + NONCE, start + NONCE + TAG);
      const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG })
        .setAAD(Buffer.from(`${id} ${place}`))
        .setAuthTag(tag);
      return Buffer.concat([decipher.update(sealed.subarray(start + NONCE + TAG)), decipher.final()]).toString("utf8");
    },
  };
}
