import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { boundedPasswords } from "./passwords.ts";
import { Refusal } from "./refusal.ts";

describe("passwords", () => {
  test("are argon2id with a salt of their own", async () => {
    const passwords = boundedPasswords(1);
    const [one, two] = [await passwords.hash("the same"), await passwords.hash("the same")];
    assert.match(one, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
    assert.notEqual(one, two);
  });

  test("those that would wait too long are refused, the others are all done", async () => {
    const passwords = boundedPasswords(1);
    const results = await Promise.allSettled(Array.from({ length: 53 }, () => passwords.hash("x")));
    const refused = results.filter((result) => result.status === "rejected");
    assert.equal(refused.length, 2, "one runs, fifty wait");
    for (const { reason } of refused) assert.ok(reason instanceof Refusal && reason.kind === "unavailable");
    assert.match(await passwords.hash("afterwards"), /^\$argon2id/);
  });
});
