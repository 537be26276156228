import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, testApp } from "#test/support/app.ts";
import { API_URL, clustersOn, newCertificate, NOWHERE } from "./test-support.ts";

const FIELDS = [
  ...["id", "name", "created_at", "domain", "enabled", "managed", "provider_type", "platform_type"],
  ...["environment_scope", "cluster_type", "namespace_per_environment", "user", "platform_kubernetes", "provider_gcp"],
  ...["management_project", "last_probe"],
];
const PROJECT_FIELDS = [
  ...["id", "description", "name", "name_with_namespace", "path", "path_with_namespace", "created_at"],
  ...["default_branch", "tag_list", "topics", "ssh_url_to_repo", "http_url_to_repo", "web_url", "readme_url"],
  ...["forks_count", "avatar_url", "star_count", "last_activity_at", "namespace"],
];
const DUPLICATE = { message: { environment_scope: ["cannot add duplicated environment scope"] } };

describe("the clusters of a project", () => {
  let app: TestApp;
  let on: ReturnType<typeof clustersOn>;
  before(async () => {
    app = await testApp();
    on = clustersOn(app);
  });
  after(() => app.close());

  test("are at most fifty", async () => {
    const project = await on.clusterProject();
    await sql`insert into clusters (project_id, name, api_url, environment_scope)
      select ${project.id}, 'c' || k, ${API_URL}, 'e' || k from generate_series(1, 49) k`.execute(
      app.services.db.write,
    );
    await on.added(project);
    const { status, text } = await on.post(project, { environment_scope: "more" });
    assert.deepEqual([status, /at most 50 clusters/.test(text)], [422, true], text);
  });

  test("need at least the role Maintainer", async () => {
    const project = await on.clusterProject();
    const { id } = await on.added(project);
    const one = `${project.clusters}/${id}`;
    const statuses = async (token: string | undefined) => {
      const calls = [
        app.get(project.clusters, { token }),
        app.get(one, { token }),
        app.post(`${project.clusters}/user`, { token, payload: {} }),
        app.put(one, { token, payload: { name: "x" } }),
        app.post(`${one}/probe`, { token }),
        app.delete(one, { token }),
      ];
      return new Set((await Promise.all(calls)).map(({ status }) => status));
    };
    const developer = await app.makeUser();
    await on.member(developer, { project_id: project.id }, "developer");
    assert.deepEqual(await statuses(developer.token), new Set([403]));
    assert.deepEqual(await statuses((await app.makeUser()).token), new Set([404]));
    assert.deepEqual(await statuses(undefined), new Set([401]));
  });

  test("add, get and edit return one cluster with every field and its project", async () => {
    const project = await on.clusterProject();
    const { certificate } = newCertificate();
    const platform = { ca_cert: `\n${certificate}`, namespace: "Ship-1", authorization_type: "abac" };
    const fields = { domain: "apps.example.com", enabled: false, managed: false, environment_scope: "review/*" };
    const made = await on.added(project, { name: " Main ", ...fields, platform });
    assert.deepEqual(Object.keys(made), [...FIELDS, "project"]);
    assert.deepEqual(
      { ...made, id: 0, created_at: "", user: made.user.username, project: made.project.id },
      {
        id: 0,
        name: "Main",
        created_at: "",
        domain: "apps.example.com",
        enabled: false,
        managed: false,
        provider_type: "user",
        platform_type: "kubernetes",
        environment_scope: "review/*",
        cluster_type: "project_type",
        namespace_per_environment: true,
        user: project.maintainer.username,
        platform_kubernetes: {
          api_url: API_URL,
          namespace: "ship-1",
          authorization_type: "abac",
          ca_cert: certificate.trim(),
          token_set: true,
        },
        provider_gcp: null,
        management_project: null,
        last_probe: null,
        project: project.id,
      },
    );
    for (const field of ["id", "name", "username", "state", "avatar_url", "web_url"])
      assert.ok(field in made.user, field);
    assert.deepEqual((await on.get(project, made.id)).body, made);
    const edited = await on.put(project, made.id, {});
    assert.equal(edited.status, 200);
    assert.deepEqual(edited.body, made);
  });

  test("the project in a cluster has tag_list beside topics, and its namespace", async () => {
    const { token } = await app.makeUser();
    const payload = { name: "Flagship", topics: ["sea", "wind"] };
    const { body: project } = await app.post("/projects", { token, payload });
    const attributes = { api_url: API_URL, token: "x" };
    const added = await app.post(`/projects/${project.id}/clusters/user`, {
      ...{ token, payload: { name: "Main", platform_kubernetes_attributes: attributes } },
    });
    assert.equal(added.status, 201, added.text);
    assert.deepEqual(Object.keys(added.body.project), PROJECT_FIELDS);
    assert.deepEqual(added.body.project.tag_list, ["sea", "wind"]);
    assert.deepEqual(added.body.project.topics, ["sea", "wind"]);
    for (const field of ["id", "name", "path", "kind", "full_path", "parent_id"])
      assert.ok(field in added.body.project.namespace, field);
  });

  test("the list is without project, in the order of ids, and paged", async () => {
    const project = await on.clusterProject();
    const ids: number[] = [];
    for (const scope of ["c", "a", "b"]) ids.push((await on.added(project, { environment_scope: scope })).id);
    const { body, headers } = await on.list(project);
    assert.deepEqual(
      body.map(({ id }: { id: number }) => id),
      ids,
    );
    for (const cluster of body) assert.deepEqual(Object.keys(cluster), FIELDS);
    assert.equal(headers["x-total"], "3");
    const second = await on.list(project, "?per_page=2&page=2");
    assert.deepEqual([second.body.length, second.body[0].id], [1, ids[2]]);
  });

  test("defaults: enabled, managed, rbac, any environment, nothing else set", async () => {
    const project = await on.clusterProject();
    const made = await on.added(project);
    assert.deepEqual(
      [made.enabled, made.managed, made.environment_scope, made.domain, made.namespace_per_environment],
      [true, true, "*", null, true],
    );
    const { authorization_type, namespace, ca_cert } = made.platform_kubernetes;
    assert.deepEqual([authorization_type, namespace, ca_cert], ["rbac", null, null]);
  });

  test("name, api_url and token are required, and all that is missing is said at once", async () => {
    const project = await on.clusterProject();
    const { status, body } = await app.post(`${project.clusters}/user`, { token: project.maintainer.token });
    assert.equal(status, 400);
    const hash = "platform_kubernetes_attributes";
    assert.deepEqual(body, {
      error: `name is missing, ${hash} is missing, ${hash}[api_url] is missing, ${hash}[token] is missing`,
    });
  });

  test("attributes in brackets of a form are accepted, and a management project as text", async () => {
    const { token } = await app.makeUser();
    const make = async (name: string) => (await app.post("/projects", { token, payload: { name } })).body.id;
    const [id, manager] = [await make("Fleet"), await make("Control")];
    const form = new URLSearchParams({
      name: "Main",
      management_project_id: String(manager),
      "platform_kubernetes_attributes[api_url]": API_URL,
      "platform_kubernetes_attributes[token]": "x",
    });
    const { status, body } = await app.post(`/projects/${id}/clusters/user`, {
      token,
      payload: form.toString(),
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    assert.equal(status, 201);
    assert.equal(body.management_project.id, manager);
  });

  test("edit changes each of its parameters, enabled included", async () => {
    const project = await on.clusterProject();
    const { id } = await on.added(project);
    const { certificate } = newCertificate();
    const changed = await on.put(project, id, {
      ...{
        name: "Other",
        domain: "other.example.com",
        enabled: false,
        managed: false,
        environment_scope: "production",
      },
      namespace_per_environment: false,
      platform_kubernetes_attributes: {
        api_url: "https://other.example.com:6443",
        namespace: "a",
        ca_cert: certificate,
      },
    });
    assert.equal(changed.status, 200, changed.text);
    const { body } = await on.get(project, id);
    assert.deepEqual(
      [body.name, body.domain, body.enabled, body.managed, body.environment_scope, body.namespace_per_environment],
      ["Other", "other.example.com", false, false, "production", false],
    );
    const { api_url, namespace, ca_cert } = body.platform_kubernetes;
    assert.deepEqual([api_url, namespace, ca_cert], ["https://other.example.com:6443", "a", certificate.trim()]);
    const blank = { domain: "", platform_kubernetes_attributes: { namespace: "", ca_cert: "" } };
    const { body: emptied } = await on.put(project, id, blank);
    assert.deepEqual([emptied.domain, emptied.platform_kubernetes.namespace], [null, null]);
    assert.equal(emptied.platform_kubernetes.ca_cert, null);
  });

  test("edit does not change the authorization type", async () => {
    const project = await on.clusterProject();
    const { id } = await on.added(project);
    const { body } = await on.put(project, id, { platform_kubernetes_attributes: { authorization_type: "abac" } });
    assert.equal(body.platform_kubernetes.authorization_type, "rbac");
  });

  test("name, api_url, ca_cert and token of a cluster that was not added by hand cannot be changed", async () => {
    const project = await on.clusterProject();
    const id = await on.provided(project);
    const { certificate } = newCertificate();
    const managed = { message: { "platform_kubernetes.base": ["Cannot modify managed Kubernetes cluster"] } };
    const named = { message: { name: ["can not be changed because it's synchronized with provider"] } };
    for (const [payload, expected] of [
      [{ name: "other" }, named],
      [{ platform_kubernetes_attributes: { api_url: "https://other.example.com" } }, managed],
      [{ platform_kubernetes_attributes: { ca_cert: certificate } }, managed],
      [{ platform_kubernetes_attributes: { token: "x" } }, managed],
    ] as const) {
      const { status, body } = await on.put(project, id, payload);
      assert.equal(status, 400);
      assert.deepEqual(body, expected);
    }
    const others = { domain: "a.example.com", enabled: false, managed: false, environment_scope: "b" };
    const same = { name: "provided", platform_kubernetes_attributes: { api_url: API_URL, namespace: "n" } };
    const { status, body } = await on.put(project, id, { ...others, ...same });
    assert.equal(status, 200);
    assert.deepEqual([body.provider_type, body.enabled, body.platform_kubernetes.namespace], ["gcp", false, "n"]);
  });

  test("no two clusters of a project have the same environment scope, also when added at once", async () => {
    const project = await on.clusterProject();
    const all = await Promise.all(Array.from({ length: 10 }, () => on.post(project, { environment_scope: "a" })));
    assert.deepEqual(
      all.map(({ status }) => status).toSorted((a, b) => a - b),
      [201, ...Array.from({ length: 9 }, () => 400)],
    );
    for (const { body } of all.filter(({ status }) => status === 400)) assert.deepEqual(body, DUPLICATE);
    const { id } = await on.added(project, { environment_scope: "b" });
    assert.deepEqual((await on.put(project, id, { environment_scope: "a" })).body, DUPLICATE);
    assert.equal((await on.post(await on.clusterProject(), { environment_scope: "a" })).status, 201);
  });

  test("no two clusters with one management project have the same environment scope", async () => {
    const { token } = await app.makeUser();
    const make = async (name: string) => (await app.post("/projects", { token, payload: { name } })).body.id;
    const manager = await make("Bridge");
    const add = async (id: number) => {
      const attributes = { api_url: API_URL, token: "x" };
      const payload = { name: "Main", management_project_id: manager, platform_kubernetes_attributes: attributes };
      return app.post(`/projects/${id}/clusters/user`, { token, payload });
    };
    assert.equal((await add(await make("Port"))).status, 201);
    assert.deepEqual((await add(await make("Starboard"))).body, DUPLICATE);
  });

  test("a management project is in the same namespace and maintained by the caller; it may be taken away", async () => {
    const project = await on.clusterProject();
    const foreign = await on.clusterProject(project.maintainer);
    const [sibling, hidden] = [await on.project(project.groupId), await on.project(project.groupId)];
    await on.member(project.maintainer, { project_id: sibling }, "maintainer");
    const text = "Project does not exist or you don't have permission to perform this action";
    for (const id of [hidden, foreign.id, NOWHERE]) {
      const { status, body } = await on.post(project, { management_project_id: id });
      assert.equal(status, 400);
      assert.deepEqual(body, { message: { management_project_id: [text] } });
    }
    const made = await on.added(project, { management_project_id: sibling });
    assert.deepEqual(Object.keys(made.management_project), PROJECT_FIELDS.slice(0, 7));
    assert.equal((await on.put(project, made.id, { name: "x" })).body.management_project.id, sibling);
    assert.equal((await on.put(project, made.id, { management_project_id: null })).body.management_project, null);
  });

  test("a management project is not shown to a Maintainer who may not see it", async () => {
    const project = await on.clusterProject();
    const sibling = await on.project(project.groupId);
    await on.member(project.maintainer, { project_id: sibling }, "maintainer");
    const { id } = await on.added(project, { management_project_id: sibling });
    const other = await app.makeUser();
    await on.member(other, { project_id: project.id }, "maintainer");
    const { body } = await on.get(project, id, other);
    assert.equal(body.management_project, null);
    assert.equal((await on.list(project, "", other)).body[0].management_project, null);
    assert.equal((await on.get(project, id)).body.management_project.id, sibling);
  });

  test("what is wrong with the values of fields is said for all at once", async () => {
    const project = await on.clusterProject();
    const platform = { namespace: "no_underscores", ca_cert: "no certificate", token: "a b" };
    const { status, body } = await on.post(project, { name: " ", domain: "no domain!", platform });
    assert.equal(status, 400);
    assert.match(
      body.message["platform_kubernetes.namespace"][0],
      /^can contain only lowercase letters, digits, and '-'/,
    );
    assert.deepEqual(
      { ...body.message, "platform_kubernetes.namespace": [] },
      {
        name: ["has to be present"],
        domain: [String.raw`contains invalid characters (valid characters: [a-z0-9\-])`],
        "platform_kubernetes.namespace": [],
        "platform_kubernetes.ca_cert": ["must be a valid PEM certificate"],
        "platform_kubernetes.token": ["contains invalid characters"],
      },
    );
    const reserved = await on.post(project, { platform: { namespace: "gitlab-managed-apps" } });
    assert.deepEqual(reserved.body.message, { "platform_kubernetes.namespace": ["is reserved"] });
  });

  test("a private key is not taken for a certificate", async () => {
    const project = await on.clusterProject();
    const { certificate, key } = newCertificate();
    for (const ca_cert of [key, `${certificate}${key}`, certificate.replace(/\n.*\n/, "\nAAAA\n")])
      assert.equal((await on.post(project, { platform: { ca_cert } })).status, 400);
    assert.equal((await on.post(project, { platform: { ca_cert: `${certificate}${certificate}` } })).status, 201);
  });

  test("a cluster of another project is as missing as one that does not exist", async () => {
    const [project, other] = [await on.clusterProject(), await on.clusterProject()];
    const { id } = await on.added(other);
    for (const cluster of [id, NOWHERE]) {
      const one = `${project.clusters}/${cluster}`;
      const { token } = project.maintainer;
      for (const { status, body } of [
        await app.get(one, { token }),
        await app.put(one, { token, payload: { name: "" } }),
        await app.post(`${one}/probe`, { token }),
        await app.delete(one, { token }),
      ])
        assert.deepEqual([status, body], [404, { message: "404 Not found" }]);
    }
  });

  test("delete is 204, or 412 if it changed meanwhile, and asks nothing of the cluster itself", async () => {
    const project = await on.clusterProject();
    const { id } = await on.added(project);
    const one = `${project.clusters}/${id}`;
    const { token } = project.maintainer;
    const headers = { "if-unmodified-since": "Wed, 01 Jan 2020 00:00:00 GMT" };
    assert.equal((await app.delete(one, { token, headers })).status, 412);
    const { status, text } = await app.delete(one, { token });
    assert.deepEqual([status, text], [204, ""]);
    assert.equal((await app.get(one, { token })).status, 404);
    const { rows } = await sql`select from jobs.job where data->'payload'->>'cluster_id' = ${String(id)}`.execute(
      app.services.db.write,
    );
    assert.deepEqual(rows, [], "nothing is queued that would reach the cluster");
  });

  test("are deprecated since release 14.5: each response says so", async () => {
    const project = await on.clusterProject();
    const { id } = await on.added(project);
    const since = `@${Date.UTC(2021, 10, 22) / 1000}`;
    for (const { headers } of [
      await on.list(project),
      await on.get(project, id),
      await on.get(project, NOWHERE),
      await on.post(project, { environment_scope: "b" }),
      await on.put(project, id, {}),
      await app.delete(`${project.clusters}/${id}`, { token: project.maintainer.token }),
    ])
      assert.equal(headers["deprecation"], since);
  });

  test("an archived project is read-only, but its clusters can be removed", async () => {
    const project = await on.clusterProject();
    const { id } = await on.added(project);
    await app.services.db.write.updateTable("projects").set({ archived: true }).where("id", "=", project.id).execute();
    assert.equal((await on.post(project, { environment_scope: "b" })).status, 403);
    assert.equal((await on.put(project, id, { name: "x" })).status, 403);
    assert.equal((await on.list(project)).status, 200);
    assert.equal((await app.delete(`${project.clusters}/${id}`, { token: project.maintainer.token })).status, 204);
  });
});

describe("the clusters of a project in the plan free", () => {
  let app: TestApp;
  before(async () => {
    app = await testApp({ env: { FAIRLEAD_PLAN: "free" } });
  });
  after(() => app.close());

  test("an environment scope becomes any, and is named as ignored", async () => {
    const on = clustersOn(app);
    const project = await on.clusterProject();
    const { status, body, headers } = await on.post(project, { environment_scope: "production" });
    assert.equal(status, 201);
    assert.equal(body.environment_scope, "*");
    assert.equal(headers["x-ignored-parameters"], "environment_scope");
    assert.equal((await on.put(project, body.id, { environment_scope: "staging" })).body.environment_scope, "*");
  });

  test("a second cluster is refused, and why", async () => {
    const on = clustersOn(app);
    const project = await on.clusterProject();
    await on.added(project);
    const { status, body } = await on.post(project);
    assert.deepEqual(
      [status, body],
      [400, { message: { base: ["A second cluster in a project requires the Premium plan"] } }],
    );
    await on.added(await on.clusterProject());
  });
});
