import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { runWorker, type Worker } from "#jobs/worker.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";
import { probeCluster } from "./jobs.ts";
import { type ClusterProject, clustersOn, newCertificate, TOKEN } from "./test-support.ts";

const ALLOWED = "127.0.0.1";

describe("the address of a cluster", () => {
  let app: TestApp;
  let on: ReturnType<typeof clustersOn>;
  before(async () => {
    app = await testApp();
    on = clustersOn(app);
  });
  after(() => app.close());

  const problemOf = async (project: ClusterProject, api_url: string) =>
    (await on.post(project, { platform: { api_url } })).body.message?.["platform_kubernetes.api_url"]?.[0];

  test("an address that is not public is refused", async () => {
    const project = await on.clusterProject();
    for (const host of [
      ...[
        "127.0.0.1",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "192.0.0.1",
      ],
      ...["198.18.0.1", "224.0.0.1", "240.0.0.1", "2130706433", "0x7f.1", "localhost", "[::]", "[::1]", "[fc00::1]"],
      ...["[fe80::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]"],
    ])
      assert.match((await problemOf(project, `https://${host}`)) ?? "", /^is blocked: /, host);
    const { id } = await on.added(project);
    const moved = await on.put(project, id, { platform_kubernetes_attributes: { api_url: "http://10.0.0.1" } });
    assert.equal(moved.status, 400);
    assert.equal((await on.get(project, id)).body.platform_kubernetes.token_set, true);
  });

  test("what is no http or https URL without credentials is refused", async () => {
    const project = await on.clusterProject();
    for (const url of [
      "k8s.example.com",
      "ftp://k8s.example.com",
      "https://u:p@k8s.example.com",
      "https://",
      "http://a b",
    ])
      assert.match((await problemOf(project, url)) ?? "", /^must be an http or https URL/, url);
    const { body } = await on.post(project, { platform: { api_url: "" } });
    assert.deepEqual(body, { error: "platform_kubernetes_attributes[api_url] is empty" });
  });
});

describe("the probe of a cluster", () => {
  let app: TestApp;
  let on: ReturnType<typeof clustersOn>;
  let worker: Worker;
  const servers: Server[] = [];
  before(async () => {
    app = await testApp({ env: { FAIRLEAD_OUTBOUND_ALLOW: ALLOWED }, databaseUrl: await freshDatabase() });
    on = clustersOn(app);
    worker = await runWorker(app.services, [probeCluster], { queues: ["outbound"] });
  });
  after(async () => {
    await worker.stop();
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
    await app.close();
  });

  /** A server that stands for the API of a cluster, and the requests that it got. */
  async function api(listener: RequestListener, tls?: { readonly certificate: string; readonly key: string }) {
    const seen: IncomingMessage[] = [];
    const handle: RequestListener = (request, response) => {
      seen.push(request);
      listener(request, response);
    };
    const server = tls ? createHttpsServer({ cert: tls.certificate, key: tls.key }, handle) : createHttpServer(handle);
    servers.push(server);
    await once(server.listen(0, ALLOWED), "listening");
    const url = `${tls ? "https" : "http"}://${ALLOWED}:${(server.address() as AddressInfo).port}`;
    return { url, seen };
  }

  async function probed(platform: object) {
    const project = await on.clusterProject();
    const { id } = await on.added(project, { platform });
    const asked = await app.post(`${project.clusters}/${id}/probe`, { token: project.maintainer.token });
    assert.equal(asked.status, 202);
    assert.equal(asked.body.last_probe, null);
    const found = await until(
      "the probe is recorded",
      async () => (await on.get(project, id)).body.last_probe ?? false,
    );
    return { project, id, ...found };
  }

  test("says that a cluster can be reached with its certificate and token", async () => {
    const tls = newCertificate();
    const { url, seen } = await api((_request, response) => response.end("{}"), tls);
    const { result, message, finished_at } = await probed({ api_url: `${url}/k8s/`, ca_cert: tls.certificate });
    assert.deepEqual([result, message, typeof finished_at], ["reachable", null, "string"]);
    assert.deepEqual([seen[0]?.method, seen[0]?.url], ["GET", "/k8s/version"]);
    assert.equal(seen[0]?.headers.authorization, `Bearer ${TOKEN}`);
  });

  test("does not send the token to a server without a trusted certificate", async () => {
    const { url, seen } = await api((_request, response) => response.end("{}"), newCertificate());
    const { result, message } = await probed({ api_url: url });
    assert.deepEqual([result, message], ["unreachable", "The API has no certificate that is trusted for its name"]);
    assert.deepEqual(seen, []);
  });

  test("tells a refused token from an answer that is no API's", async () => {
    const answering = async (status: number) =>
      (await probed({ api_url: (await api((_request, response) => response.writeHead(status).end("no"))).url })).result;
    assert.equal(await answering(401), "token refused");
    assert.equal(await answering(403), "token refused");
    assert.equal(await answering(500), "unexpected answer");
  });

  test("does not follow a redirect to an address that is not public, and sends no token to another site", async () => {
    const inner = await api((_request, response) => response.end("{}"));
    const refused = inner.url.replace(ALLOWED, "127.0.0.2");
    const toInside = await api((_request, response) => response.writeHead(302, { location: refused }).end());
    assert.equal((await probed({ api_url: toInside.url })).result, "unreachable");
    assert.equal(inner.seen.length, 0);
    const toOther = await api((_request, response) => response.writeHead(302, { location: inner.url }).end());
    assert.equal((await probed({ api_url: toOther.url })).result, "reachable");
    assert.deepEqual(
      inner.seen.map(({ headers }) => headers.authorization),
      [undefined],
    );
  });

  test("is forgotten once the cluster is reached otherwise, and not by other changes", async () => {
    const { url } = await api((_request, response) => response.end("{}"));
    const { project, id } = await probed({ api_url: url });
    assert.notEqual((await on.put(project, id, { name: "Other" })).body.last_probe, null);
    const { body } = await on.put(project, id, { platform_kubernetes_attributes: { token: "new" } });
    assert.equal(body.last_probe, null);
  });

  test("records nothing about a cluster that was changed meanwhile", async () => {
    const held = Promise.withResolvers<void>();
    const { url, seen } = await api((_request, response) => void held.promise.then(() => response.end("{}")));
    const project = await on.clusterProject();
    const { id } = await on.added(project, { platform: { api_url: url } });
    await app.post(`${project.clusters}/${id}/probe`, { token: project.maintainer.token });
    await until("the probe is sent", async () => seen.length > 0);
    await on.put(project, id, { platform_kubernetes_attributes: { api_url: "https://other.example.com" } });
    held.resolve();
    const ended = async () => {
      const { rows } = await sql`
        select from jobs.job where state in ('created', 'active', 'retry') and data->'payload'->>'cluster_id' = ${String(id)}`.execute(
        app.services.db.write,
      );
      return rows.length === 0;
    };
    await until("the job has ended", ended);
    assert.equal((await on.get(project, id)).body.last_probe, null);
  });
});
