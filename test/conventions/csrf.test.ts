import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { csrfTokenOf } from "#access/sessions.ts";
import { type Browser, makePerson, PASSWORD, type Person, signIn } from "#domains/identity/sessions/test-support.ts";
import { snapshotOf } from "#test/access/support.ts";
import { type Call, type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { multipart } from "#test/support/wire.ts";

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
type Forged = readonly [method: Method, path: string, call: Call, status: number];

const FORM = "application/x-www-form-urlencoded";
const EVIL = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };

/** Requests that other sites can make a signed-in browser send: the cookie goes along, and must not be enough. */
describe("requests forged by other sites", () => {
  let app: TestApp;
  let victim: Person;
  let browser: Browser;
  let cookie: string;
  let csrf: string;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    victim = await makePerson(app, { admin: true });
    browser = await signIn(app, victim);
    cookie = browser.headers["cookie"] ?? "";
    csrf = browser.headers["x-csrf-token"] ?? "";
  });
  after(() => app.close());

  const project = { name: "Forged" };
  const forged: Record<string, () => Forged | Promise<Forged>> = {
    "a form": () => [
      "POST",
      "/projects",
      { payload: "name=Forged", headers: { ...EVIL, cookie, "content-type": FORM, "sec-fetch-mode": "navigate" } },
      403,
    ],
    "a form with a file": () => {
      const { payload, headers } = multipart({ name: "Forged" });
      return ["POST", "/projects", { payload, headers: { ...EVIL, ...headers, cookie } }, 403];
    },
    "JSON as plain text": () => [
      "POST",
      "/projects",
      { payload: JSON.stringify(project), headers: { ...EVIL, cookie, "content-type": "text/plain" } },
      415,
    ],
    "a form that names another verb": () => [
      "POST",
      "/user/sessions",
      {
        payload: "_method=DELETE",
        headers: { ...EVIL, cookie, "content-type": FORM, "x-http-method-override": "DELETE" },
      },
      405,
    ],
    "a read that names another verb": () => [
      "GET",
      "/user/sessions?_method=DELETE",
      { headers: { ...EVIL, cookie, "x-http-method-override": "DELETE" } },
      401,
    ],
    "a script of another site": () => [
      "POST",
      "/projects",
      { payload: project, headers: { ...EVIL, cookie, "sec-fetch-mode": "cors" } },
      403,
    ],
    "a script that asks for more than it may": () => [
      "DELETE",
      `/user/sessions`,
      { headers: { ...EVIL, cookie, "sec-fetch-mode": "cors" } },
      403,
    ],
    "a page without an origin": () => [
      "POST",
      "/projects",
      { payload: project, headers: { cookie, origin: "null", "sec-fetch-site": "cross-site" } },
      403,
    ],
    "a page of the same domain that knows the token": () => [
      "PUT",
      `/users/${victim.id}`,
      { payload: { bio: "Forged" }, headers: { cookie, "sec-fetch-site": "same-site", "x-csrf-token": csrf } },
      403,
    ],
    "a browser that says nothing of sites, with the token": () => [
      "POST",
      "/projects",
      { payload: project, headers: { cookie, "x-csrf-token": csrf } },
      403,
    ],
    "an address that was typed or opened, with the token": () => [
      "POST",
      "/projects",
      { payload: project, headers: { cookie, "sec-fetch-site": "none", "x-csrf-token": csrf } },
      403,
    ],
    "our own page without the token": () => [
      "POST",
      "/projects",
      { payload: project, headers: { cookie, "sec-fetch-site": "same-origin" } },
      403,
    ],
    "our own page with an empty token": () => [
      "POST",
      "/projects",
      { payload: project, headers: { cookie, "sec-fetch-site": "same-origin", "x-csrf-token": "" } },
      403,
    ],
    "our own page with the token in a parameter": () => [
      "POST",
      `/projects?x-csrf-token=${csrf}&csrf_token=${csrf}`,
      { payload: { ...project, csrf_token: csrf }, headers: { cookie, "sec-fetch-site": "same-origin" } },
      403,
    ],
    "our own page with the token of another session": () => {
      const token = csrfTokenOf("another secret");
      return ["POST", "/projects", { payload: project, headers: { ...browser.headers, "x-csrf-token": token } }, 403];
    },
    "two answers to where it comes from": () => [
      "POST",
      "/projects",
      { payload: project, headers: { ...browser.headers, "sec-fetch-site": "same-origin, cross-site" } },
      403,
    ],
    "a second cookie of the name": () => [
      "POST",
      "/projects",
      { payload: project, headers: { ...browser.headers, cookie: `${cookie}; ${cookie.replace(/=.*/, "=planted")}` } },
      401,
    ],
    "signing the victim in as somebody else": () => [
      "POST",
      "/session",
      { payload: { login: victim.username, password: PASSWORD }, headers: { ...EVIL } },
      403,
    ],
    "signing in by a form": () => [
      "POST",
      "/session",
      {
        payload: `login=${victim.username}&password=${PASSWORD}`,
        headers: { "sec-fetch-site": "same-site", "content-type": FORM },
      },
      403,
    ],
    ...Object.fromEntries(
      [
        "https://evil.example",
        "null",
        "https://localhost",
        "http://localhost:8081",
        "http://localhost.evil.example",
      ].map((origin): [string, () => Forged] => [
        `signing in from ${origin} by a browser that says nothing of sites`,
        () => [
          "POST",
          "/session",
          {
            payload: `login=${victim.username}&password=${PASSWORD}`,
            headers: { origin, "content-type": FORM },
          },
          403,
        ],
      ]),
    ),
    "a mailed link, by a form of another site": () => [
      "POST",
      "/-/account/password",
      { payload: "token=a&password=b&password_again=b", headers: { origin: "null", "content-type": FORM } },
      403,
    ],
    "another origin with the token, by a browser that says nothing of sites": () => [
      "POST",
      "/projects",
      { payload: project, headers: { cookie, origin: "http://evil.example", "x-csrf-token": csrf } },
      403,
    ],
    "our own origin without the token, by a browser that says nothing of sites": () => [
      "POST",
      "/projects",
      { payload: project, headers: { cookie, origin: "http://localhost" } },
      403,
    ],
    "our own origin, by a browser that says it is another site": () => [
      "POST",
      "/projects",
      { payload: project, headers: { ...EVIL, cookie, origin: "http://localhost", "x-csrf-token": csrf } },
      403,
    ],
  };

  for (const [name, make] of Object.entries(forged)) {
    test(`${name}: refused, and nothing is written`, async () => {
      const [method, path, call, expected] = await make();
      const before = await snapshotOf(app.services.db.write);
      const { status, text, headers } = await app.call(method, path, call);
      assert.equal(status, expected, text);
      assert.equal(headers["set-cookie"], undefined);
      assert.deepEqual(await snapshotOf(app.services.db.write), before);
    });
  }

  test("the same requests by our own page succeed", async () => {
    const { headers } = browser;
    assert.equal((await app.post("/projects", { payload: project, headers })).status, 201);
    const form = { payload: "name=By+a+form", headers: { ...headers, "content-type": FORM } };
    assert.equal((await app.post("/projects", form)).status, 201);
    assert.equal((await app.put(`/users/${victim.id}`, { payload: { bio: "Mine" }, headers })).status, 200);
    const others = { headers: { ...headers, cookie: `theme=dark; ${cookie}; x=fairlead_session` } };
    assert.equal((await app.get("/user", others)).status, 200, "cookies of other names do not matter");
  });

  test("over plain http our own origin and the token are enough, and the log warns once", async () => {
    const before = app.logged.length;
    const headers = { cookie, origin: "http://localhost", "x-csrf-token": csrf };
    for (const name of ["By origin", "By origin again"])
      assert.equal((await app.post("/projects", { payload: { name }, headers })).status, 201);
    const warnings = app.logged.slice(before).filter((line) => line.includes("Sec-Fetch-Site"));
    assert.equal(warnings.length, 1);
    const payload = { login: victim.username, password: PASSWORD };
    assert.equal((await app.post("/session", { payload, headers: { origin: "http://localhost" } })).status, 201);
  });

  test("our own origin is the external URL, whatever host and scheme a proxy forwards", async () => {
    const named = await testApp({ env: { FAIRLEAD_EXTERNAL_URL: "https://code.example" } });
    try {
      const person = await makePerson(named);
      const payload = { login: person.username, password: PASSWORD };
      for (const [origin, host, status] of [
        ["https://code.example", "code.example", 201],
        ["https://code.example", "10.0.0.1:8080", 201],
        ["https://evil.example", "evil.example", 403],
        ["https://code.example:8443", "code.example", 403],
        ["http://localhost:8080", "localhost:8080", 201],
      ] as const)
        assert.equal((await named.post("/session", { payload, headers: { origin, host } })).status, status, origin);
    } finally {
      await named.close();
    }
  });

  test("a read that is not from our page is answered as for an anonymous caller", async () => {
    for (const headers of [
      { cookie },
      { cookie, "sec-fetch-site": "same-origin" },
      { cookie, "x-csrf-token": csrf },
      { ...EVIL, cookie, "x-csrf-token": csrf },
    ]) {
      assert.equal((await app.get("/user", { headers })).status, 401);
      const { status, body } = await app.get(`/users?username=${victim.username}`, { headers });
      assert.equal(status, 200);
      assert.equal("email" in body[0], false, "an administrator would see it");
    }
    const { body } = await app.get(`/users?username=${victim.username}`, { headers: browser.headers });
    assert.equal(body[0].email, victim.email);
  });

  test("CORS allows scripts of other sites neither cookies nor the CSRF token", async () => {
    for (const reply of [
      await app.call("OPTIONS", "/session", { headers: { ...EVIL, "access-control-request-headers": "x-csrf-token" } }),
      await app.get("/users", { headers: { ...EVIL, cookie } }),
    ]) {
      assert.equal(reply.headers["access-control-allow-credentials"], undefined);
      for (const name of ["access-control-allow-headers", "access-control-expose-headers"])
        assert.doesNotMatch(reply.headers[name] ?? "", /csrf/i);
    }
  });

  test("signing in does not need the token of an existing session", async () => {
    const payload = { login: victim.username, password: PASSWORD };
    for (const headers of [
      { cookie, "sec-fetch-site": "same-origin" },
      { cookie: "fairlead_session=ended", "sec-fetch-site": "same-origin", "x-csrf-token": "old" },
      {},
    ])
      assert.equal((await app.post("/session", { payload, headers })).status, 201);
  });
});
