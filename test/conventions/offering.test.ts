import assert from "node:assert/strict";
import { describe, test } from "node:test";
import Type from "typebox";
import { administrator } from "#access/access.ts";
import { operationsOf } from "#http/app.ts";
import { endpoint } from "#http/endpoint.ts";
import { Nullable } from "#http/params/vocabulary.ts";
import { resources } from "#domains/index.ts";
import { type TestApp, testApp } from "#test/support/app.ts";

const common = { method: "GET", access: administrator(), returns: Type.Object({ ok: Type.Boolean() }) } as const;
const params = Type.Object({ must: Type.Integer() });
const handle = () => ({ ok: true });
const sauce = { secret_sauce: Type.Optional(Type.String({ plan: "ultimate" })) };
const gated = {
  hosted: endpoint({ ...common, path: "/gated/hosted", summary: "Hosted", params, offering: ["hosted"], handle }),
  premium: endpoint({ ...common, path: "/gated/premium", summary: "Premium", params, plan: "premium", handle }),
  both: endpoint({
    ...common,
    path: "/gated/both",
    summary: "Hosted and Ultimate",
    params,
    offering: ["hosted"],
    plan: "ultimate",
    handle,
  }),
  scoped: endpoint({
    ...common,
    path: "/gated/scope",
    summary: "A parameter and a field above the plan",
    params: Type.Object({ environment_scope: Type.Optional(Type.String({ plan: "premium", default: "*" })) }),
    returns: Type.Array(
      Type.Object({ environment_scope: Type.String(), ...sauce, nested: Type.Array(Nullable(Type.Object(sauce))) }),
    ),
    handle: ({ params: given }) => [
      { environment_scope: given.environment_scope ?? "*", secret_sauce: "x", nested: [{ secret_sauce: "y" }, null] },
    ],
  }),
};

/** Moves of the repositories of one kind of owner, all of them and those of one. */
const restrictedMoves = (owner: string, restriction: string) =>
  Object.fromEntries(
    [`/${owner}_repository_storage_moves`, `/${owner}s/:id/repository_storage_moves`].flatMap((path) =>
      [`GET ${path}`, `GET ${path}/:repository_storage_id`, `POST ${path}`].map((key) => [key, restriction]),
    ),
  );

/** What the documents restrict; every other endpoint is in all offerings and plans. */
const RESTRICTED = {
  "GET /service_accounts": "premium, self-managed dedicated",
  "POST /service_accounts": "premium, self-managed dedicated",
  "PATCH /service_accounts/:id": "premium, self-managed dedicated",
  "GET /groups/:id/enterprise_users": "premium, hosted",
  "GET /groups/:id/enterprise_users/:user_id": "premium, hosted",
  "PATCH /groups/:id/enterprise_users/:user_id/disable_two_factor": "premium, hosted",
  "GET /groups/:id/saml_users": "premium",
  "GET /deploy_keys": "self-managed dedicated",
  "POST /deploy_keys": "self-managed dedicated",
  ...restrictedMoves("project", "self-managed dedicated"),
  ...restrictedMoves("snippet", "self-managed dedicated"),
  ...restrictedMoves("group", "premium, self-managed dedicated"),
  "GET /admin/storages": "self-managed dedicated",
  "GET /jobqueue/queue_metrics": "self-managed dedicated",
  "GET /jobqueue/process_metrics": "self-managed dedicated",
  "GET /jobqueue/job_stats": "self-managed dedicated",
  "GET /jobqueue/compound_metrics": "self-managed dedicated",
  "GET /groups/:id/epics/:epic_id/resource_label_events": "premium",
  "GET /groups/:id/epics/:epic_id/resource_label_events/:resource_label_event_id": "premium",
  "GET /groups/:id/related_epic_links": "ultimate",
  "GET /groups/:id/epics/:epic_iid/related_epics": "ultimate",
  "POST /groups/:id/epics/:epic_iid/related_epics": "ultimate",
  "DELETE /groups/:id/epics/:epic_iid/related_epics/:related_epic_link_id": "ultimate",
};

/** Whatever else belongs to an epic, and the wikis of groups, need the plan that has them. */
const OF_PREMIUM = / \/groups\/:id\/(?:epics|wikis)(?:\/|$)/;

/** What the documents call deprecated, and since when: the clusters of projects, and all of the epics API. */
const DEPRECATED = [
  [/^\/projects\/:id\/clusters(?:\/|$)/, "2021-11-22"],
  [/^\/groups\/:id\/(?:epics|related_epic_links)(?:\/|$)/, "2024-05-16"],
] as const;

async function installed(env: Record<string, string>, work: (app: TestApp) => Promise<void>) {
  const app = await testApp({ env, resources: { ...resources, gated } });
  try {
    await work(app);
  } finally {
    await app.close();
  }
}

/** The statuses for an anonymous caller, a user, and an administrator without and with valid parameters. */
async function statuses(app: TestApp, path: string) {
  const user = await app.makeUser();
  const admin = await app.makeUser({ admin: true });
  return [
    (await app.get(path)).status,
    (await app.get(path, { token: user.token })).status,
    (await app.get(path, { token: admin.token })).status,
    (await app.get(`${path}?must=1`, { token: admin.token })).status,
  ];
}

describe("offering and plan", () => {
  test("endpoints are in the offerings and plans that the documents say", () => {
    const restricted = operationsOf(resources).flatMap(({ endpoint: { method, path, plan, offering } }) => {
      const places = [plan, offering?.join(" ")].filter((place) => place !== undefined).join(", ");
      return places === "" ? [] : [[`${method} ${path}`, places] as const];
    });
    const ofEpics = operationsOf(resources)
      .map(({ endpoint: { method, path } }) => `${method} ${path}`)
      .filter((name) => OF_PREMIUM.test(name));
    const expected = { ...Object.fromEntries(ofEpics.map((name) => [name, "premium"])), ...RESTRICTED };
    assert.deepEqual(Object.fromEntries(restricted), expected);
  });

  test("endpoints are deprecated that the documents say", () => {
    for (const { endpoint } of operationsOf(resources)) {
      const [, since] = DEPRECATED.find(([paths]) => paths.test(endpoint.path)) ?? [];
      assert.equal(endpoint.deprecated?.since, since, `${endpoint.method} ${endpoint.path}`);
    }
  });

  test("the default installation has everything", () =>
    installed({}, async (app) => {
      for (const path of ["/gated/hosted", "/gated/premium", "/gated/both"]) {
        assert.deepEqual(await statuses(app, path), [401, 403, 400, 200], path);
      }
    }));

  test("an endpoint of another offering is 404 before anything else", () =>
    installed({ FAIRLEAD_OFFERING: "self-managed" }, async (app) => {
      assert.deepEqual(await statuses(app, "/gated/hosted"), [404, 404, 404, 404]);
      assert.deepEqual((await app.get("/gated/hosted")).body, { error: "404 Not Found" });
      assert.deepEqual(await statuses(app, "/gated/premium"), [401, 403, 400, 200]);
    }));

  test("an endpoint above the plan is 403 right after 401", () =>
    installed({ FAIRLEAD_PLAN: "free", FAIRLEAD_OFFERING: "hosted" }, async (app) => {
      assert.deepEqual(await statuses(app, "/gated/premium"), [401, 403, 403, 403]);
      assert.deepEqual(await statuses(app, "/gated/both"), [401, 403, 403, 403]);
      assert.deepEqual(await statuses(app, "/gated/hosted"), [401, 403, 400, 200]);
      const { token } = await app.makeUser();
      for (const [path, plans] of [
        ["/gated/premium", "Premium or Ultimate"],
        ["/gated/both", "Ultimate"],
      ] as const) {
        const { body } = await app.get(path, { token });
        assert.deepEqual(body, { message: `403 Forbidden - Requires the ${plans} plan` });
      }
    }));

  test("a plan includes the ones below it", () =>
    installed({ FAIRLEAD_PLAN: "premium" }, async (app) => {
      assert.deepEqual(await statuses(app, "/gated/premium"), [401, 403, 400, 200]);
      assert.deepEqual(await statuses(app, "/gated/both"), [401, 403, 403, 403]);
    }));

  test("a parameter above the plan is ignored, and a field above it is left out", async () => {
    for (const [plan, answer] of [
      ["free", { environment_scope: "*", nested: [{}, null] }],
      ["premium", { environment_scope: "staging", nested: [{}, null] }],
      ["ultimate", { environment_scope: "staging", secret_sauce: "x", nested: [{ secret_sauce: "y" }, null] }],
    ] as const) {
      await installed({ FAIRLEAD_PLAN: plan }, async (app) => {
        const { token } = await app.makeUser({ admin: true });
        assert.deepEqual((await app.get("/gated/scope?environment_scope=staging", { token })).body, [answer], plan);
      });
    }
  });
});
