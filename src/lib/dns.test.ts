import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { startDns, type TestDns } from "#test/support/dns.ts";
import { boundedDns } from "./dns.ts";

describe("DNS", () => {
  let dns: TestDns;
  before(async () => {
    dns = await startDns();
    await dns.serve(
      { "_proof.one.test": ["a=1"], "two.test": ["first", "second"] },
      { "both.test": ["192.0.2.1", "192.0.2.2", "2001:db8::1"], "four.test": ["192.0.2.3"] },
    );
  });
  after(() => dns.stop());

  test("returns all TXT records of a name", async () => {
    const { txt } = boundedDns([dns.server]);
    assert.deepEqual(await txt("_proof.one.test"), ["a=1"]);
    assert.deepEqual((await txt("two.test"))?.toSorted(), ["first", "second"]);
  });

  test("a name without records is an empty list, an unanswered lookup undefined", async () => {
    assert.deepEqual(await boundedDns([dns.server]).txt("nothing.test"), []);
    assert.equal(await boundedDns([dns.server]).txt("refused.example.com"), undefined);
    assert.equal(await boundedDns(["127.0.0.1:1"]).txt("two.test"), undefined);
    assert.equal(await boundedDns([dns.server]).txt(`${"x".repeat(64)}.test`), undefined);
  });

  test("returns all addresses of a name, and none for one that is missing or not answered", async () => {
    const { addresses } = boundedDns([dns.server]);
    const { signal } = new AbortController();
    assert.deepEqual((await addresses("both.test", signal)).toSorted(), ["192.0.2.1", "192.0.2.2", "2001:db8::1"]);
    assert.deepEqual(await addresses("four.test", signal), ["192.0.2.3"]);
    for (const name of ["nothing.test", "refused.example.com", "a..test", `${"x".repeat(64)}.test`]) {
      assert.deepEqual(await addresses(name, signal), [], name);
    }
  });

  test("a lookup of addresses ends with its signal", async () => {
    // It answers nothing.
    const silent = createSocket("udp4").bind(0, "127.0.0.1");
    await once(silent, "listening");
    const controller = new AbortController();
    const found = boundedDns([`127.0.0.1:${silent.address().port}`]).addresses("two.test", controller.signal);
    await once(silent, "message");
    controller.abort();
    assert.deepEqual(await found, []);
    silent.close();
  });

  test("many concurrent lookups are queued, and too many are refused", async () => {
    const { txt } = boundedDns([dns.server]);
    const asked = await Promise.allSettled(Array.from({ length: 60 }, () => txt("two.test")));
    assert.equal(asked.filter(({ status }) => status === "fulfilled").length, 58);
  });

  test("an invalid server address is refused at once", () => {
    assert.throws(() => boundedDns(["dns.example.com"]), /Invalid IP address/);
  });
});
