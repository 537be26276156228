import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

describe("links", () => {
  let app: TestApp;
  let user: TestUser;
  before(async () => {
    app = await testApp();
    user = await app.makeUser();
  });
  after(() => app.close());

  const linkOf = async (path: string, headers: Record<string, string> = {}, of = app) =>
    (await of.get(path, { token: user.token, headers })).headers["link"] ?? "";

  test("links repeat every parameter except tokens and passwords", async () => {
    const { headers } = await app.get(
      `/users?private_token=${user.token}&password=pw&custom_attributes[a]=b&zzz[]=1&zzz[]=2&active=true&sudo_not=x`,
    );
    const link = headers["link"] ?? "";
    const { searchParams } = new URL(/<([^>]+)>; rel="first"/.exec(link)?.[1] ?? "");
    assert.deepEqual(
      [...searchParams].toSorted(([a], [b]) => a.localeCompare(b)),
      [
        ["active", "true"],
        ["custom_attributes[a]", "b"],
        ["page", "1"],
        ["per_page", "20"],
        ["sudo_not", "x"],
        ["zzz[]", "1"],
        ["zzz[]", "2"],
      ],
    );
    assert.ok(!link.includes(user.token) && !link.includes("pw"));
  });

  test("links do not repeat a token under another name", async () => {
    const link = await linkOf(`/users?private_tokenT=${user.token}&active=true&a[b]=${user.token}`);
    assert.match(link, /users\?active=true&/);
    assert.ok(!link.includes(user.token));
  });

  test("commas, semicolons and angle brackets are encoded, so that clients can split the header", async () => {
    const link = await linkOf("/users?search=a,b;c<d>e%22f%26g");
    assert.match(link, /search=a%2Cb%3Bc%3Cd%3Ee%22f%26g&/);
    assert.equal(link.split(",").length, link.split('rel="').length - 1);
  });

  test("a parameter of the body is repeated in the query", async () => {
    const { headers } = await app.get("/users", {
      token: user.token,
      payload: { search: "from the body", per_page: 5 },
    });
    assert.match(headers["link"] ?? "", /search=from%20the%20body&page=1&per_page=5>/);
  });

  test("over loopback links have the requested host and port", async () => {
    for (const host of ["localhost", "localhost:8080", "127.0.0.1:9", "[::1]:80"]) {
      assert.match(
        await linkOf("/users", { host }),
        new RegExp(`^<http://${host.replaceAll(/[.[\]]/g, String.raw`\$&`)}/api`),
      );
    }
  });

  test("a host that is not allowed does not appear in links", async () => {
    for (const host of ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "a b", "evil\u0007"]) {
      const link = await linkOf("/users", { host });
      assert.match(link, /^<http:\/\/127\.0\.0\.1:8080\/api/, host);
      const { body } = await app.get("/user", { token: user.token, headers: { host } });
      assert.equal(body.web_url, `http://127.0.0.1:8080/${user.username}`);
    }
  });

  test("links have the requested host if it is allowed, else the external URL", async () => {
    const named = await testApp({
      env: {
        FAIRLEAD_EXTERNAL_URL: "https://code.example.com/",
        FAIRLEAD_ALLOWED_HOSTS: "git.example.net, Other.example",
      },
    });
    try {
      const of = (host: string) => linkOf("/users", { host }, named);
      assert.match(await of("git.example.net"), /^<http:\/\/git\.example\.net\/api/);
      assert.match(await of("GIT.example.net:8443"), /^<http:\/\/git\.example\.net:8443\/api/);
      assert.match(await of("other.example"), /^<http:\/\/other\.example\/api/);
      assert.match(await of("evil.example"), /^<https:\/\/code\.example\.com\/api/);
    } finally {
      await named.close();
    }
  });

  test("forwarded scheme and host count only from a trusted proxy", async () => {
    const forwarded = {
      "x-forwarded-proto": "https",
      "x-forwarded-host": "git.example.net",
      "x-forwarded-for": "9.9.9.9",
    };
    assert.match(await linkOf("/users", forwarded), /^<http:\/\/localhost\/api/);
    const behind = await testApp({
      env: { FAIRLEAD_TRUSTED_PROXIES: "127.0.0.1", FAIRLEAD_ALLOWED_HOSTS: "git.example.net" },
    });
    try {
      assert.match(await linkOf("/users", forwarded, behind), /^<https:\/\/git\.example\.net\/api/);
      assert.match(behind.logged.at(-1) ?? "", /"ip":"9\.9\.9\.9"/);
      const stranger = await behind.get("/users", { token: user.token, headers: forwarded, remoteAddress: "8.8.8.8" });
      assert.match(stranger.headers["link"] ?? "", /^<http:\/\/localhost\/api/);
      assert.match(behind.logged.at(-1) ?? "", /"ip":"8\.8\.8\.8"/);
    } finally {
      await behind.close();
    }
  });
});
