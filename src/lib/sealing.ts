import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { SealingKey } from "./sealing-key.ts";

/** Encrypts secrets at rest, so that access to the database alone does not reveal them. */
export interface Sealing {
  /** `context` is authenticated with the secret, such as `second_factors.sealed_secret 7`; in another row it does not open. */
  seal(text: string, context: string): Promise<Buffer>;
  unseal(sealed: Buffer, context: string): Promise<string>;
  /** Derives 256 bits from a label; the result is deterministic and cannot be computed without the key. */
  derive(label: string): Promise<Buffer>;
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Loads the key at first use, since most processes never need it. */
export function sealingBy(ensureKey: () => Promise<SealingKey>): Sealing {
  let loading: Promise<SealingKey> | undefined;
  const loadKey = () => {
    loading ??= ensureKey();
    // A failed read is not cached.
    loading.catch(() => (loading = undefined));
    return loading;
  };
  return {
    async seal(text, context) {
      const { id, key } = await loadKey();
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(`${id} ${context}`));
      const body = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      return Buffer.concat([Buffer.from(`${id}:`), nonce, cipher.getAuthTag(), body]);
    },
    async derive(label) {
      const { key } = await loadKey();
      return Buffer.from(hkdfSync("sha256", key, "", label, 32));
    },
    async unseal(sealed, context) {
      const { id, key } = await loadKey();
      const start = id.length + 1;
      if (sealed.toString("latin1", 0, start) !== `${id}:`) throw new Error("it was sealed with another key");
      const nonce = sealed.subarray(start, start + NONCE_BYTES);
      const tag = sealed.subarray(start + NONCE_BYTES, start + NONCE_BYTES + TAG_BYTES);
      const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(`${id} ${context}`))
        .setAuthTag(tag);
      return Buffer.concat([
        decipher.update(sealed.subarray(start + NONCE_BYTES + TAG_BYTES)),
        decipher.final(),
      ]).toString("utf8");
    },
  };
}
