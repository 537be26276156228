import assert from "node:assert/strict";
import { createHook } from "node:async_hooks";
import { argon2Sync } from "node:crypto";
import { describe, test } from "node:test";
import { boundedPasswords } from "./passwords.ts";
import { Refusal } from "./refusal.ts";

/** A digest from elsewhere, with another cost. */
function digestAt(memory: number, passes: number, password: string): string {
  const nonce = Buffer.from("salt of sixteen!");
  const tag = argon2Sync("argon2id", { message: password, nonce, memory, passes, parallelism: 1, tagLength: 32 });
  const text = (bytes: Buffer) => bytes.toString("base64").replaceAll("=", "");
  return `$argon2id$v=19$m=${memory},t=${passes},p=1$${text(nonce)}$${text(tag)}`;
}

describe("passwords", () => {
  test("are hashed with argon2id and a random salt", async () => {
    const passwords = boundedPasswords(1);
    const [one, two] = [await passwords.hash("the same"), await passwords.hash("the same")];
    assert.match(one, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
    assert.notEqual(one, two);
  });

  test("match only their own digest", async () => {
    const passwords = boundedPasswords(2);
    const digest = await passwords.hash("Ahoy – ahoy");
    assert.deepEqual(await passwords.verify("Ahoy – ahoy", digest), { matches: true, outdated: false });
    for (const wrong of ["Ahoy – aho", "ahoy – ahoy", "Ahoy – ahoy ", ""]) {
      assert.equal((await passwords.verify(wrong, digest)).matches, false, wrong);
    }
    for (const none of [null, "", "canary", digest.slice(0, -20), digest.replace("argon2id", "argon2i")]) {
      assert.equal((await passwords.verify("Ahoy – ahoy", none)).matches, false, String(none));
    }
  });

  test("are verified at the cost in their digest, and another cost than the current one is outdated", async () => {
    const passwords = boundedPasswords(1);
    for (const [memory, passes] of [
      [64, 1],
      [19_456, 3],
      [9728, 2],
    ] as const) {
      const digest = digestAt(memory, passes, "old");
      assert.deepEqual(await passwords.verify("old", digest), { matches: true, outdated: true });
      assert.equal((await passwords.verify("older", digest)).matches, false);
    }
  });

  test("verifying without a digest hashes once at the current cost, as with one", async () => {
    const passwords = boundedPasswords(1);
    const digest = await passwords.hash("right");
    let hashes = 0;
    const counter = createHook({ init: (_id, type) => void (hashes += Number(type === "ARGON2REQUEST")) }).enable();
    for (const given of [digest, null]) {
      hashes = 0;
      assert.deepEqual(await passwords.verify("wrong", given), { matches: false, outdated: false });
      assert.equal(hashes, 1);
    }
    counter.disable();
  });

  test("attempts beyond the queue are refused, all others complete", async () => {
    const passwords = boundedPasswords(1);
    const results = await Promise.allSettled(
      Array.from({ length: 53 }, (_, n) => (n % 2 === 0 ? passwords.hash("x") : passwords.verify("x", null))),
    );
    const refused = results.filter((result) => result.status === "rejected");
    assert.equal(refused.length, 2, "one runs, fifty wait");
    for (const { reason } of refused) assert.ok(reason instanceof Refusal && reason.kind === "unavailable");
    assert.match(await passwords.hash("afterwards"), /^\$argon2id/);
  });
});
