import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { readConfig } from "#config.ts";
import { boundedDns, type Dns } from "#lib/dns.ts";
import { startDns, type TestDns } from "#test/support/dns.ts";
import { addressRules } from "./addresses.ts";
import { checkedAddresses, outboundUrl, pinnedLookup } from "./connection.ts";
import { exchange } from "./exchange.ts";
import { openOutbound } from "./outbound.ts";

const NAME = "rebinding.test";
const PUBLIC = "1.1.1.1";
const publicOnly = addressRules({ allowed: [], allowLocal: false, ownPorts: [] });

describe("a name whose address changes between check and connection", () => {
  let testDns: TestDns;
  let dns: Dns;
  let inner: Server;
  let url: string;
  let reached = 0;
  before(async () => {
    testDns = await startDns();
    dns = boundedDns([testDns.server]);
    inner = createServer((_request, response) => {
      reached++;
      response.end("secret");
    }).listen(0, "127.0.0.1");
    await once(inner, "listening");
    url = `http://${NAME}:${(inner.address() as AddressInfo).port}/`;
  });
  after(async () => {
    inner.close();
    await testDns.stop();
  });

  const resolve = (name: string) => dns.addresses(name, new AbortController().signal);

  /** Checks the name while it is public, makes it private, and sends the request; whether it arrived. */
  async function rebind(send: () => Promise<unknown>): Promise<boolean> {
    const before = reached;
    await testDns.serve({}, { [NAME]: [PUBLIC] });
    assert.deepEqual(await checkedAddresses(outboundUrl(url), resolve, publicOnly), [PUBLIC]);
    await testDns.serve({}, { [NAME]: ["127.0.0.1"] });
    await send();
    return reached > before;
  }

  const guarded = () => openOutbound(readConfig({}), dns, () => Promise.resolve(false));

  test("is refused", async () => {
    const send = async () => {
      const { failure } = await guarded().request({ url, consumer: "project:1" });
      assert.equal(failure?.reason, "destination");
    };
    assert.equal(await rebind(send), false);
  });

  // What the test above is worth: a client that trusts the earlier check reaches the private address.
  test("reaches the private address without the check at the connection", async () => {
    const { signal } = new AbortController();
    const request = { method: "GET", headers: {}, body: undefined, ca: undefined, maxBytes: 100, signal } as const;
    const send = async () => exchange({ ...request, url: outboundUrl(url) }, pinnedLookup(await resolve(NAME)));
    assert.equal(await rebind(send), true);
  });

  test("is connected to at the address that was checked, whatever a second query would answer", async () => {
    const answers = [["127.0.0.1"], ["127.0.0.2"]];
    const changing = { ...dns, addresses: () => Promise.resolve(answers.shift() ?? []) };
    const config = readConfig({ FAIRLEAD_OUTBOUND_ALLOW: "127.0.0.1" });
    const outbound = openOutbound(config, changing, () => Promise.resolve(false));
    assert.equal((await outbound.request({ url, consumer: "project:1" })).answer?.body.toString(), "secret");
    assert.deepEqual(answers, [["127.0.0.2"]]);
  });
});
