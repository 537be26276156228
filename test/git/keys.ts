import { parseArgs } from "node:util";
import { git } from "#test/support/git.ts";
import type { RunningServer } from "#test/support/server.ts";
import { type ClientKey, sshTools } from "#test/support/ssh.ts";
import { newClient, type Client } from "./client.ts";
import { type ServerHandle, type User, type Project, startInstallation } from "./installation.ts";

/** A deploy key that was revoked through one process is refused by every other at once. */
const LANES = 3;
/** Concurrent uses in the other process during the change. */
const CONCURRENT_USES = 2;

const { values } = parseArgs({ options: { times: { type: "string", default: "5" } } });
const times = Number(values.times);
if (!Number.isInteger(times) || times < 1) throw new Error("--times must be a whole number from 1");

/** A user with two projects that both enabled a key. */
interface KeyFixture {
  readonly creator: User;
  readonly projects: readonly [Project, Project];
  readonly keyId: number;
  readonly key: ClientKey;
  readonly client: Client;
}

/** A change of a key, and what it may do in its first project afterwards. */
interface KeyChange {
  readonly name: string;
  apply(by: RunningServer, fixture: KeyFixture): Promise<unknown>;
  readonly reads: boolean;
  readonly pushes: boolean;
  /** Whether it still reads the other project. */
  readonly readsOther: boolean;
  /** The status of the API for the key in the first project. */
  readonly apiStatus: number;
  undo?(by: RunningServer, fixture: KeyFixture): Promise<unknown>;
}

const installation = await startInstallation();
const second = await installation.startSecond();
const first: ServerHandle = { server: installation.server(), sshPort: installation.sshPort };
await Promise.all([first, second].map(({ server }) => server.sshReady()));
const tools = await sshTools();

const ended = { reads: false, pushes: false, readsOther: false };
const keyChanges: readonly KeyChange[] = [
  {
    name: "removed from one of its projects",
    apply: (by, fixture) => remove(by, fixture, 0),
    ...ended,
    readsOther: true,
    apiStatus: 404,
  },
  {
    name: "removed from all projects",
    async apply(by, fixture) {
      await remove(by, fixture, 1);
      await remove(by, fixture, 0);
    },
    ...ended,
    apiStatus: 404,
  },
  {
    name: "expired",
    apply: (_, { keyId }) =>
      installation.query("update keys set expires_at = now() - interval '1 second' where id = $1", [keyId]),
    ...ended,
    apiStatus: 200,
  },
  {
    name: "allowed to read only",
    apply: (by, { keyId, projects: [project] }) =>
      callApi(by, "PUT", `/projects/${project.id}/deploy_keys/${keyId}`, { can_push: false }),
    reads: true,
    pushes: false,
    readsOther: true,
    apiStatus: 200,
  },
  {
    name: "of a creator who is blocked",
    apply: (by, { creator }) => callApi(by, "POST", `/users/${creator.id}/block`),
    reads: true,
    pushes: true,
    readsOther: true,
    apiStatus: 200,
    undo: (by, { creator }) => callApi(by, "POST", `/users/${creator.id}/unblock`),
  },
];

const problems: string[] = [];
let [begun, passed] = [0, 0];
try {
  await Promise.all(Array.from({ length: LANES }, (_, lane) => runLane(lane)));
} finally {
  await tools.close();
  await installation.close();
}
for (const problem of problems.slice(0, 20)) console.log(`✖ ${problem}`);
console.log(
  `each of ${keyChanges.length} changes ${times} times: a key ${keyChanges.map(({ name }) => name).join(", ")}`,
);
console.log(`keys: ${passed} passed, ${problems.length} failed`);
process.exit(passed === times * keyChanges.length && problems.length === 0 ? 0 : 1);

async function runLane(lane: number) {
  await using client = await newClient();
  const creator = await installation.createUser(`creator-${lane}`);
  const projects = [await createProject(creator, `One ${lane}`), await createProject(creator, `Two ${lane}`)] as const;
  while (begun < times * keyChanges.length) {
    const number = begun++;
    const problem = await tryOnce(number, creator, projects, client).catch((error: unknown) => String(error));
    if (problem === undefined) passed++;
    else problems.push(`${number}: ${problem}`);
  }
}

async function createProject({ token }: User, name: string): Promise<Project> {
  const created = await installation.call<{ id: number; path_with_namespace: string }>("POST", "/projects", {
    token,
    body: { name },
  });
  return { id: created.id, path: created.path_with_namespace };
}

/** Alternates between the two processes and between the changes. */
async function tryOnce(
  number: number,
  creator: User,
  projects: readonly [Project, Project],
  client: Client,
): Promise<string | undefined> {
  const change = keyChanges[number % keyChanges.length] as KeyChange;
  const servers = Math.floor(number / keyChanges.length) % 2 === 0 ? [first, second] : [second, first];
  const [by, other] = servers as [ServerHandle, ServerHandle];
  const fixture: KeyFixture = { creator, projects, client, ...(await newKey(creator, projects)) };
  for (const handle of servers) {
    if (!(await reads(handle, fixture, 0)) || !(await pushes(handle, fixture)))
      return `${change.name}: it did not work before`;
  }

  const uses = Array.from({ length: CONCURRENT_USES }, () => reads(other, fixture, 0));
  await change.apply(by.server, fixture);
  const found: string[] = [];
  for (const handle of [other, by]) {
    const where = handle === by ? "its own process" : "the other process";
    if ((await reads(handle, fixture, 0)) !== change.reads) found.push(`${where} on reading`);
    if ((await pushes(handle, fixture)) !== change.pushes) found.push(`${where} on pushing`);
    if ((await reads(handle, fixture, 1)) !== change.readsOther) found.push(`${where} on the other project`);
    const path = `/projects/${projects[0].id}/deploy_keys/${fixture.keyId}`;
    if ((await statusOf(handle.server, path)) !== change.apiStatus) found.push(`${where} in the API`);
  }
  await Promise.all(uses);
  await change.undo?.(by.server, fixture);
  for (const at of [0, 1] as const) await remove(by.server, fixture, at).catch(() => {});
  return found.length === 0 ? undefined : `${change.name}: wrong by ${found.join(", ")}`;
}

async function newKey({ token }: User, [one, two]: readonly [Project, Project]) {
  const key = await tools.makeKey("ed25519");
  const body = { title: "test", key: key.line, can_push: true };
  const { id } = await installation.call<{ id: number }>("POST", `/projects/${one.id}/deploy_keys`, { token, body });
  await installation.call("POST", `/projects/${two.id}/deploy_keys/${id}/enable`, { token });
  return { key, keyId: id };
}

function addressOf({ sshPort }: ServerHandle, { path }: Project): string {
  return `ssh://git@127.0.0.1:${sshPort}/${path}.git`;
}

async function reads(handle: ServerHandle, { key, client, projects }: KeyFixture, which: 0 | 1): Promise<boolean> {
  const env = tools.gitEnv(tools.withKey(key));
  const { code } = await git(["ls-remote", addressOf(handle, projects[which])], { cwd: client.directory, env });
  return code === 0;
}

async function pushes(handle: ServerHandle, { key, client, projects: [project] }: KeyFixture): Promise<boolean> {
  const [id = ""] = await client.commitsOn("key", [undefined]);
  const env = tools.gitEnv(tools.withKey(key));
  const ref = `refs/heads/${id.slice(0, 12)}`;
  return (await client.push(addressOf(handle, project), [{ ref, id }], { env })).outcomes.get(ref) === "done";
}

function remove(by: RunningServer, { projects, keyId }: KeyFixture, which: 0 | 1) {
  return callApi(by, "DELETE", `/projects/${projects[which].id}/deploy_keys/${keyId}`);
}

/** Calls the API of a process as the administrator; throws unless it succeeds. */
async function callApi({ url, token }: RunningServer, method: string, path: string, body?: object) {
  const response = await fetch(`${url}/api/v4${path}`, {
    method,
    headers: { "private-token": token, ...(body && { "content-type": "application/json" }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (response.status >= 300) throw new Error(`${method} ${path} answered ${response.status} ${text}`);
}

async function statusOf({ url, token }: RunningServer, path: string): Promise<number> {
  const response = await fetch(`${url}/api/v4${path}`, { headers: { "private-token": token } });
  await response.body?.cancel();
  return response.status;
}
