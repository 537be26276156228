import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, testApp } from "#test/support/app.ts";
import { sealingContext } from "./actions.ts";
import { API_URL, clustersOn, newCertificate, TOKEN } from "./test-support.ts";

describe("the token of a cluster", () => {
  let app: TestApp;
  let on: ReturnType<typeof clustersOn>;
  before(async () => {
    app = await testApp();
    on = clustersOn(app);
  });
  after(() => app.close());

  const stored = async (id: number): Promise<string | null> => {
    const { sealed_token } = await app.services.db.write
      .selectFrom("clusters")
      .select("sealed_token")
      .where("id", "=", id)
      .executeTakeFirstOrThrow();
    return sealed_token && app.services.sealing.unseal(sealed_token, sealingContext(id));
  };

  test("is in no response, log, audit event, job or column", async () => {
    const project = await on.clusterProject();
    const made = await on.post(project);
    const { id } = made.body;
    const replies = [
      made,
      await on.put(project, id, { platform_kubernetes_attributes: { token: `${TOKEN}-2` } }),
      await on.get(project, id),
      await on.list(project),
      await on.post(project, { platform: { api_url: "no url" } }),
      await on.post(project, { platform: { token: `${TOKEN} with a space` } }),
      await on.post(project),
      await app.post(`${project.clusters}/${id}/probe`, { token: project.maintainer.token }),
      await app.delete(`${project.clusters}/${id}`, { token: project.maintainer.token }),
      await on.post(project),
    ];
    for (const { text, headers } of replies) assert.ok(!`${text} ${JSON.stringify(headers)}`.includes(TOKEN), text);
    const { rows } = await sql<{ text: string }>`
      select (select string_agg(c::text || coalesce(encode(sealed_token, 'escape'), ''), ' ') from clusters c)
        || (select string_agg(e::text, ' ') from audit_events e)
        || (select coalesce(string_agg(j::text, ' '), '') from jobs.job j) as text`.execute(app.services.db.write);
    const kept = rows[0]?.text ?? "";
    for (const part of ["cluster_probed", "cluster_id"]) assert.ok(kept.includes(part), part);
    assert.ok(!kept.includes(TOKEN));
    assert.ok(!app.logged.join("").includes(TOKEN));
  });

  test("is sealed for its row: in another row it does not open", async () => {
    const project = await on.clusterProject();
    const first = await on.added(project);
    const second = await on.added(project, { environment_scope: "b", platform: { token: "other" } });
    assert.equal(await stored(first.id), TOKEN);
    await sql`update clusters set sealed_token = (select sealed_token from clusters where id = ${first.id})
      where id = ${second.id}`.execute(app.services.db.write);
    await assert.rejects(stored(second.id));
  });

  test("is trimmed, and kept if an edit sends none or a blank one", async () => {
    const project = await on.clusterProject();
    const { id } = await on.added(project, { platform: { token: ` ${TOKEN}\n` } });
    assert.equal(await stored(id), TOKEN);
    for (const platform_kubernetes_attributes of [{ token: "" }, { token: " " }, { namespace: "a" }]) {
      const { body } = await on.put(project, id, { platform_kubernetes_attributes });
      assert.equal(body.platform_kubernetes.token_set, true);
    }
    assert.equal(await stored(id), TOKEN);
    await on.put(project, id, { platform_kubernetes_attributes: { token: "new" } });
    assert.equal(await stored(id), "new");
  });

  test("a change of api_url without the token erases it, whatever the change", async () => {
    const project = await on.clusterProject();
    for (const [index, api_url] of [
      "https://k8s.example.com.evil.example",
      "https://k8s.example.com:6443",
      "http://k8s.example.com",
      "https://k8s.example.co",
      "https://k8s.example.com/other",
    ].entries()) {
      const { id } = await on.added(project, { environment_scope: String(index) });
      for (const token of [{}, { token: " " }]) {
        const changed = await on.put(project, id, { platform_kubernetes_attributes: { api_url, ...token } });
        assert.equal(changed.status, 200, changed.text);
        assert.equal(changed.body.platform_kubernetes.api_url, api_url);
        assert.equal(changed.body.platform_kubernetes.token_set, false, api_url);
      }
      assert.equal(await stored(id), null);
    }
  });

  test("another spelling of the same api_url keeps it, and a new one goes with a new api_url", async () => {
    const project = await on.clusterProject();
    const { id } = await on.added(project);
    for (const api_url of [API_URL, "https://K8S.example.com:443/", `${API_URL}/`]) {
      const { body } = await on.put(project, id, { platform_kubernetes_attributes: { api_url } });
      assert.equal(body.platform_kubernetes.token_set, true, api_url);
    }
    assert.equal(await stored(id), TOKEN);
    const moved = { api_url: "https://other.example.com", token: "other" };
    const { body } = await on.put(project, id, { platform_kubernetes_attributes: moved });
    assert.equal(body.platform_kubernetes.token_set, true);
    assert.equal(await stored(id), "other");
  });

  test("sizes: a token of 16 KiB is accepted, and every field has a maximum", async () => {
    const project = await on.clusterProject();
    const { id } = await on.added(project, { platform: { token: "x".repeat(16_384) } });
    assert.equal((await stored(id))?.length, 16_384);
    const { certificate } = newCertificate();
    const hash = (name: string, most: number) =>
      `platform_kubernetes_attributes[${name}] is too long (maximum is ${most} characters)`;
    for (const [fields, error] of [
      [{ platform: { token: "x".repeat(16_385) } }, hash("token", 16_384)],
      [{ platform: { ca_cert: certificate.repeat(200) } }, hash("ca_cert", 65_536)],
      [{ platform: { namespace: "x".repeat(64) } }, hash("namespace", 63)],
      [{ platform: { api_url: `${API_URL}/${"x".repeat(2048)}` } }, hash("api_url", 2048)],
      [{ name: "x".repeat(2049) }, "name is too long (maximum is 2048 characters)"],
      [{ domain: "x".repeat(256) }, "domain is too long (maximum is 255 characters)"],
      [{ environment_scope: "x".repeat(256) }, "environment_scope is too long (maximum is 255 characters)"],
    ] as const) {
      for (const { status, body } of [
        await on.post(project, { environment_scope: "b", ...fields }),
        await on.put(project, id, "platform" in fields ? { platform_kubernetes_attributes: fields.platform } : fields),
      ])
        assert.deepEqual([status, body], [400, { error }]);
    }
  });
});
