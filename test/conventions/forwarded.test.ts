import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

const PROXY = "10.1.2.3";

describe("headers of a trusted proxy", () => {
  let app: TestApp;
  let user: TestUser;
  before(async () => {
    app = await testApp({
      env: {
        FAIRLEAD_TRUSTED_PROXIES: "10.0.0.0/8, 2001:db8:ffff::/48, 192.0.2.1",
        FAIRLEAD_EXTERNAL_URL: "http://code.example",
      },
    });
    user = await app.makeUser();
  });
  after(() => app.close());

  /** The address in the audit log after a write. */
  async function audited(remoteAddress: string, headers: Record<string, string>) {
    const {
      status,
      headers: answered,
      text,
    } = await app.put("/user/status", {
      token: user.token,
      payload: { message: "Ahoy" },
      remoteAddress,
      headers,
    });
    assert.equal(status, 200, text);
    const row = await app.services.db.write
      .selectFrom("audit_events")
      .select("ip_address")
      .where("request_id", "=", answered["x-request-id"] ?? "")
      .executeTakeFirstOrThrow();
    return row.ip_address;
  }

  for (const [forwarded, address] of Object.entries({
    "1.2.3.4": "1.2.3.4",
    "1.2.3.4:5678": "1.2.3.4",
    "2001:db8::1": "2001:db8::1",
    "[2001:db8::1]": "2001:db8::1",
    "[2001:db8::1]:443": "2001:db8::1",
    "fe80::1%eth0": "fe80::1",
    "::ffff:1.2.3.4": "::ffff:1.2.3.4",
    "rubbish, 1.2.3.4:5678": "1.2.3.4",
    "6.6.6.6, 1.2.3.4:5678, 10.9.9.9:80, [2001:db8:ffff::1]:443, 192.0.2.1:1": "1.2.3.4",
  })) {
    test(`${forwarded} is ${address}`, async () =>
      assert.equal(await audited(PROXY, { "x-forwarded-for": forwarded }), address));
  }

  for (const forwarded of [
    ...[
      "rubbish",
      "unknown",
      "1.2.3.4, unknown",
      "",
      " ",
      ",",
      "1.2.3",
      "1.2.3.4.5",
      "256.1.1.1",
      "1.2.3.4:",
      "1.2.3.4:x",
    ],
    ...["1.2.3.4:99999999", "[1.2.3.4]:80", "[::1", "::1]", "[]", "[]:80", "2001:db8::1:::443", "0x7f.1", "1.2.3.4/8"],
    ...["'; drop table users", "for=1.2.3.4", "__proto__", "%31.2.3.4", "a".repeat(5000), "\u00ff"],
  ]) {
    test(`${forwarded.slice(0, 20)} is no address, and the proxy's own is taken`, async () =>
      assert.equal(await audited(PROXY, { "x-forwarded-for": forwarded }), PROXY));
  }

  test("other senders are not trusted, and a link-local address is recorded without its interface", async () => {
    assert.equal(await audited("198.51.100.1", { "x-forwarded-for": "1.2.3.4" }), "198.51.100.1");
    assert.equal(await audited("fe80::1%eth0", {}), "fe80::1");
    assert.equal(await audited(PROXY, { forwarded: "for=1.2.3.4", "x-real-ip": "1.2.3.4" }), PROXY);
  });

  test("a forwarded scheme is http or https, and a forwarded host is one of ours", async () => {
    const linkOf = async (proto: string, host: string) => {
      const { headers } = await app.get("/users?per_page=1", {
        token: user.token,
        remoteAddress: PROXY,
        headers: { "x-forwarded-proto": proto, "x-forwarded-host": host },
      });
      return /^<(\w+:\/\/[^/]*)\//.exec(headers["link"] ?? "")?.[1];
    };
    assert.equal(await linkOf("https", "code.example"), "https://code.example");
    assert.equal(await linkOf("HTTPS", "code.example"), "https://code.example");
    assert.equal(await linkOf("http, https", "other.example, code.example"), "https://code.example");
    for (const proto of ["http", "gopher", "javascript", "https:", "", "https://evil.example/?", "\u00ff"])
      assert.equal(await linkOf(proto, "code.example"), "http://code.example", proto);
    for (const host of ["evil.example", "code.example@evil.example", "code.example/..", "", "[", "\u00ff"])
      assert.match((await linkOf("https", host)) ?? "", /^http:\/\/code\.example$|^https:\/\/localhost$/, host);
  });
});
