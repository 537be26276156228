import assert from "node:assert/strict";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { newClient } from "#test/git/client.ts";
import { pushOf, resultOf } from "#test/git/held-transports.ts";
import type { Installation } from "#test/git/installation.ts";
import { gitOutput } from "#test/support/git.ts";
import { until } from "#test/support/until.ts";
import type { Client, Version } from "./client.ts";
import { HOST, type Ports } from "./proxy.ts";
import type { StubServer } from "./stub.ts";

/** A proxy in front of Fairlead, and the same proxy in front of a server of the harness. */
export interface Scene {
  readonly installation: Installation;
  readonly client: Client;
  readonly ports: Ports;
  readonly certificateFile: string;
  readonly stub: StubServer;
  readonly stubClient: Client;
  /** How long to wait for what must happen, in milliseconds. */
  readonly patience: number;
}

export interface Check {
  readonly name: string;
  run(scene: Scene, version: Version): Promise<void>;
}

export const MAX_PACK_BYTES = 25 * 2 ** 20;
export const MAX_ANONYMOUS_REQUESTS = 20;
const PUSHED_BYTES = 20 * 2 ** 20;
const MAX_TARGET_LENGTH = 8192;

let made = 0;
const newProject = ({ installation }: Scene) => installation.createProject(`Project ${++made}`);
/** An address that no check has used. */
const newAddress = () => `127.0.1.${++made}`;

const tokenOf = ({ installation }: Scene) => ({ "private-token": installation.server().token });

/** Git's settings for the proxy's name and certificate. */
function gitSettings({ ports: { https }, certificateFile }: Scene, version: Version): Record<string, string> {
  const settings = {
    "http.version": version,
    // Git 2.39 with curl 7.88 may wait for its own pipe for ever at the end of an upload over HTTP/2, unless it knows
    // the length. How a proxy passes on a body of unknown length is checked by another client.
    ...(version === "HTTP/2" && { "http.postBuffer": String(2 * MAX_PACK_BYTES) }),
    "http.sslCAInfo": certificateFile,
    "http.curloptResolve": `${HOST}:${https}:127.0.0.1`,
  };
  const pairs = Object.entries(settings).flatMap(([key, value], n) => [
    [`GIT_CONFIG_KEY_${n}`, key],
    [`GIT_CONFIG_VALUE_${n}`, value],
  ]);
  return Object.fromEntries([["GIT_CONFIG_COUNT", String(pairs.length / 2)], ...pairs]) as Record<string, string>;
}

const gitAddress = ({ installation, client }: Scene, path: string) =>
  `https://root:${installation.server().token}@${client.authority}/${path}.git`;

export const encodedPath: Check = {
  name: "a project is found by its path with %2F",
  async run(scene, version) {
    const { id, path } = await newProject(scene);
    const target = `/api/v4/projects/${encodeURIComponent(path)}`;
    const reply = await scene.client.ask(version, target, { headers: tokenOf(scene) });
    assert.equal(reply.status, 200, reply.text);
    assert.equal(JSON.parse(reply.text).id, id);
  },
};

export const target: Check = {
  name: "a request target is passed on as it is",
  async run({ stub, stubClient }, version) {
    for (const sent of ["/a%2Fb/c%2fd%2E%2e/%7Ee?x=%2F+%26&y[]=1", "/a//b/?", "/a%252Fb%20c", "/a;b=c,d:@!$&'()*+="]) {
      const reply = await stubClient.ask(version, sent);
      assert.equal(reply.status, 200);
      assert.equal(stub.lastTarget(), sent);
    }
  },
};

export const links: Check = {
  name: "links begin with the external address, whatever host and scheme a client claims",
  async run(scene, version) {
    await newProject(scene);
    await newProject(scene);
    const headers = { ...tokenOf(scene), "x-forwarded-host": "localhost", "x-forwarded-proto": "http" };
    const reply = await scene.client.ask(version, "/api/v4/projects?per_page=1", { headers });
    assert.match(String(reply.headers["link"]), new RegExp(`^<https://${scene.client.authority}/api/v4/projects\\?`));
    const [project] = JSON.parse(reply.text) as { http_url_to_repo: string }[];
    assert.match(project?.http_url_to_repo ?? "", new RegExp(`^https://${scene.client.authority}/`));
    assert.match(String(reply.headers["strict-transport-security"]), /^max-age=/);
  },
};

export const longLinks: Check = {
  name: "a response with 20 KB of links arrives",
  async run(scene, version) {
    for (let n = 0; n < 3; n++) await newProject(scene);
    const filter = "y".repeat(7000);
    const sent = `/api/v4/projects?per_page=1&page=2&unused=${filter}`;
    const reply = await scene.client.ask(version, sent, { headers: tokenOf(scene) });
    assert.equal(reply.status, 200, reply.text.slice(0, 200));
    assert.ok(String(reply.headers["link"]).length > 20_000);
  },
};

export const clientAddress: Check = {
  name: "the audit log has the client's address, whatever the client claims",
  async run(scene, version) {
    const from = newAddress();
    const headers = { ...tokenOf(scene), "x-forwarded-for": "203.0.113.9", "content-type": "application/json" };
    const sent = { method: "PUT", headers, from, body: '{"message":"Ahoy"}' };
    const reply = await scene.client.ask(version, "/api/v4/user/status", sent);
    assert.equal(reply.status, 200, reply.text);
    const [row] = await scene.installation.query<{ ip_address: string }>(
      "select host(ip_address) as ip_address from audit_events where request_id = $1",
      [reply.headers["x-request-id"]],
    );
    assert.equal(row?.ip_address, from);
  },
};

export const rateLimit: Check = {
  name: "each client address has a rate limit of its own",
  async run({ client }, version) {
    const ask = async (from: string) => (await client.ask(version, "/api/v4/projects?per_page=1", { from })).status;
    const [busy, other] = [newAddress(), newAddress()];
    let status = await ask(busy);
    // A minute may end on the way.
    for (let n = 0; n < 2 * MAX_ANONYMOUS_REQUESTS && status === 200; n++) status = await ask(busy);
    assert.equal(status, 429);
    assert.equal(await ask(other), 200);
  },
};

export const cloneAndPush: Check = {
  name: "git pushes 20 MB and clones them",
  async run(scene, version) {
    await using git = await newClient();
    const { path } = await newProject(scene);
    const [id = ""] = await git.commits("large", 1, { bytes: PUSHED_BYTES });
    const env = gitSettings(scene, version);
    const { output, code } = await git.push(gitAddress(scene, path), [{ ref: "refs/heads/main", id }], { env });
    assert.equal(code, 0, output);
    const clone = ["clone", "--quiet", "--mirror", gitAddress(scene, path), "clone"];
    await gitOutput(clone, { cwd: git.directory, env });
    const found = await gitOutput(["--git-dir=clone", "rev-parse", "refs/heads/main"], { cwd: git.directory });
    assert.equal(found, id);
  },
};

export const slowUpload: Check = {
  name: "a push is passed on before its last bytes were sent",
  async run(scene, version) {
    const { installation, client, patience } = scene;
    await using git = await newClient();
    const project = await newProject(scene);
    const { ref, head, tail } = await pushOf({ client: git, main: "" }, "new branch");
    const headers = { ...tokenOf(scene), "content-type": "application/x-git-receive-pack-request" };
    const asked = client.open(version, `/${project.path}.git/git-receive-pack`, { method: "POST", headers });
    try {
      asked.body.write(head);
      const begun = "select from pushes where project_id = $1";
      const look = async () => (await installation.query(begun, [project.id])).length > 0;
      await until("Fairlead has read the list of refs", look, patience);
      asked.body.end(tail);
      const { status, body } = await asked.response;
      const { done, output } = resultOf(await buffer(body), ref);
      assert.ok(status === 200 && done, `${status} ${output}`);
    } finally {
      asked.close();
    }
  },
};

export const tooLarge: Check = {
  name: "a body that is too large is refused by Fairlead, in JSON",
  async run(scene, version) {
    const headers = { ...tokenOf(scene), "content-type": "application/json" };
    const body = JSON.stringify({ name: "x".repeat(2 * 2 ** 20) });
    const reply = await scene.client.ask(version, "/api/v4/groups", { method: "POST", headers, body });
    assert.equal(reply.status, 413, reply.text);
    assert.equal(reply.headers["content-type"], "application/json");
  },
};

export const tooLargePush: Check = {
  name: "git is told that a push is too large",
  async run(scene, version) {
    await using git = await newClient();
    const { path } = await newProject(scene);
    const [id = ""] = await git.commits("too large", 1, { bytes: MAX_PACK_BYTES + 2 ** 20 });
    const change = { ref: "refs/heads/main", id };
    const { output } = await git.push(gitAddress(scene, path), [change], { env: gitSettings(scene, version) });
    assert.match(output, /pack exceeds maximum allowed size/);
  },
};

export const longTarget: Check = {
  name: "a request target may have 8,192 bytes; one more is 414 in JSON, and 20,000 are refused",
  async run(scene, version) {
    const ask = (length: number) =>
      scene.client.ask(version, "/api/v4/user?x=".padEnd(length, "y"), { headers: tokenOf(scene) });
    assert.equal((await ask(MAX_TARGET_LENGTH)).status, 200);
    const reply = await ask(MAX_TARGET_LENGTH + 1);
    assert.equal(reply.status, 414);
    assert.equal(reply.headers["content-type"], "application/json");
    const refused = await ask(20_000).catch((error: unknown) => error as Error);
    // nginx refuses what it does not buffer, over HTTP/2 by ending the connection.
    if (refused instanceof Error) assert.match(refused.message, /Session closed with error code 11/);
    else assert.equal(refused.status, 414);
  },
};

export const stream: Check = {
  name: "a response without an end arrives piece by piece, and a client that goes away is noticed",
  async run({ stub, stubClient, patience }, version) {
    const asked = stubClient.open(version, "/stream");
    try {
      asked.body.end();
      await until("the request has come", async () => stub.isStreaming(), patience);
      // Over HTTP/2 nginx sends the headers with the first bytes of the body.
      stub.write("first\n");
      const late = sleep(patience, undefined, { ref: false }).then(() => assert.fail("nothing arrived"));
      late.catch(() => {});
      const { body } = await Promise.race([asked.response, late]);
      const received = body.setEncoding("utf8")[Symbol.asyncIterator]() as AsyncIterator<string>;
      for (const piece of ["first\n", "second\n"]) {
        const { value } = await Promise.race([received.next(), late]);
        assert.equal(value, piece);
        if (piece === "first\n") stub.write("second\n");
      }
    } finally {
      asked.close();
    }
    await until("the client is gone", async () => !stub.isStreaming(), patience);
  },
};

export const redirect: Check = {
  name: "plain HTTP is redirected to the same target over https",
  async run({ client }) {
    const { status, headers } = await client.askPlain("/api/v4/projects/a%2Fb?x=1");
    assert.ok(status === 301 || status === 308, String(status));
    const at = headers["location"] ?? "";
    assert.equal(at.replace(/^https:\/\/code\.example\.com(:\d+)?/, ""), "/api/v4/projects/a%2Fb?x=1");
  },
};

export const checks: readonly Check[] = [
  ...[encodedPath, target, links, longLinks, clientAddress, rateLimit, cloneAndPush, slowUpload, tooLarge],
  ...[tooLargePush, longTarget, stream, redirect],
];
