import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { sealingBy } from "./sealing.ts";

const sealing = (id = "k1", key = randomBytes(32)) => sealingBy(async () => ({ id, key }));

describe("sealing", () => {
  test("a sealed text opens only with its context and key", async () => {
    const { seal, unseal } = sealing();
    const sealed = await seal("a secret – with a dash", "table.column 7");
    assert.equal(await unseal(sealed, "table.column 7"), "a secret – with a dash");
    assert.ok(!sealed.includes("secret"));
    await assert.rejects(unseal(sealed, "table.column 8"));
    await assert.rejects(sealing().unseal(sealed, "table.column 7"));
    await assert.rejects(sealing("k2").unseal(sealed, "table.column 7"), /another key/);
  });

  test("sealing twice gives different bytes, and a changed bit is detected", async () => {
    const { seal, unseal } = sealing();
    const sealed = await seal("text", "here");
    assert.notDeepEqual(sealed, await seal("text", "here"));
    for (let at = 3; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      await assert.rejects(unseal(changed, "here"), `byte ${at}`);
    }
  });

  test("a derived secret depends on exactly the label and the key", async () => {
    const { derive } = sealing();
    const secret = await derive("mail 1");
    assert.equal(secret.length, 32);
    assert.deepEqual(await derive("mail 1"), secret);
    assert.notDeepEqual(await derive("mail 2"), secret);
    assert.notDeepEqual(await sealing().derive("mail 1"), secret);
  });

  test("a key that could not be read is read again", async () => {
    let tries = 0;
    const { seal } = sealingBy(async () => {
      if (tries++ === 0) throw new Error("no disk");
      return { id: "k1", key: randomBytes(32) };
    });
    await assert.rejects(seal("text", "here"), /no disk/);
    assert.ok(await seal("text", "here"));
  });
});
