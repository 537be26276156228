import { parseArgs } from "node:util";
import { git } from "#test/support/git.ts";
import type { RunningServer } from "#test/support/server.ts";
import { type ClientKey, sshTools } from "#test/support/ssh.ts";
import { newClient, type Client } from "./client.ts";
import { type Another, type Person, type Project, startInstallation } from "./installation.ts";

/** A deploy key that is ended through one process is refused by every other at once, and one that is not goes on. */
const LANES = 3;
/** Uses that are under way in the other process while it ends. */
const UNDER_WAY = 2;

const { values } = parseArgs({ options: { times: { type: "string", default: "5" } } });
const times = Number(values.times);
if (!Number.isInteger(times) || times < 1) throw new Error("--times, of each way, must be a whole number from 1");

/** Somebody with two projects, and a key that opens both. */
interface Held {
  readonly creator: Person;
  readonly projects: readonly [Project, Project];
  readonly keyId: number;
  readonly key: ClientKey;
  readonly client: Client;
}

/** One thing that happens to a key, and what it opens in its first project afterwards. */
interface Way {
  readonly name: string;
  happen(by: RunningServer, held: Held): Promise<unknown>;
  readonly reads: boolean;
  readonly pushes: boolean;
  /** Whether it still reads the other project. */
  readonly readsOther: boolean;
  /** What the API answers to who asks for it in the first project. */
  readonly told: number;
  again?(by: RunningServer, held: Held): Promise<unknown>;
}

const installation = await startInstallation();
const second = await installation.another();
const first: Another = { server: installation.server(), sshPort: installation.sshPort };
await Promise.all([first, second].map(({ server }) => server.sshReady()));
const tools = await sshTools();

const ended = { reads: false, pushes: false, readsOther: false };
const ways: readonly Way[] = [
  {
    name: "removed from one of its projects",
    happen: (by, held) => remove(by, held, 0),
    ...ended,
    readsOther: true,
    told: 404,
  },
  {
    name: "removed from all projects",
    async happen(by, held) {
      await remove(by, held, 1);
      await remove(by, held, 0);
    },
    ...ended,
    told: 404,
  },
  {
    name: "expired",
    happen: (_, { keyId }) =>
      installation.ask("update keys set expires_at = now() - interval '1 second' where id = $1", [keyId]),
    ...ended,
    told: 200,
  },
  {
    name: "allowed to read only",
    happen: (by, { keyId, projects: [project] }) =>
      ask(by, "PUT", `/projects/${project.id}/deploy_keys/${keyId}`, { can_push: false }),
    reads: true,
    pushes: false,
    readsOther: true,
    told: 200,
  },
  {
    name: "of a creator who is blocked",
    happen: (by, { creator }) => ask(by, "POST", `/users/${creator.id}/block`),
    reads: true,
    pushes: true,
    readsOther: true,
    told: 200,
    again: (by, { creator }) => ask(by, "POST", `/users/${creator.id}/unblock`),
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
console.log(`each of ${ways.length} ways ${times} times: a key ${ways.map(({ name }) => name).join(", ")}`);
console.log(`keys: ${passed} passed, ${problems.length} failed`);
process.exit(passed === times * ways.length && problems.length === 0 ? 0 : 1);

async function runLane(lane: number) {
  await using client = await newClient();
  const creator = await installation.newPerson(`creator-${lane}`);
  const projects = [await newProject(creator, `One ${lane}`), await newProject(creator, `Two ${lane}`)] as const;
  while (begun < times * ways.length) {
    const number = begun++;
    const problem = await tryOnce(number, creator, projects, client).catch((error: unknown) => String(error));
    if (problem === undefined) passed++;
    else problems.push(`${number}: ${problem}`);
  }
}

async function newProject({ token }: Person, name: string): Promise<Project> {
  const made = await installation.call<{ id: number; path_with_namespace: string }>("POST", "/projects", {
    token,
    body: { name },
  });
  return { id: made.id, path: made.path_with_namespace };
}

/** The two processes take turns, and so do the ways. */
async function tryOnce(
  number: number,
  creator: Person,
  projects: readonly [Project, Project],
  client: Client,
): Promise<string | undefined> {
  const way = ways[number % ways.length] as Way;
  const places = Math.floor(number / ways.length) % 2 === 0 ? [first, second] : [second, first];
  const [by, other] = places as [Another, Another];
  const held: Held = { creator, projects, client, ...(await newKey(creator, projects)) };
  for (const place of places) {
    if (!(await reads(place, held, 0)) || !(await pushes(place, held))) return `${way.name}: it did not work before`;
  }

  const uses = Array.from({ length: UNDER_WAY }, () => reads(other, held, 0));
  await way.happen(by.server, held);
  const found: string[] = [];
  for (const place of [other, by]) {
    const where = place === by ? "its own process" : "the other process";
    if ((await reads(place, held, 0)) !== way.reads) found.push(`${where} on reading`);
    if ((await pushes(place, held)) !== way.pushes) found.push(`${where} on pushing`);
    if ((await reads(place, held, 1)) !== way.readsOther) found.push(`${where} on the other project`);
    const path = `/projects/${projects[0].id}/deploy_keys/${held.keyId}`;
    if ((await statusOf(place.server, path)) !== way.told) found.push(`${where}, asked by the API`);
  }
  await Promise.all(uses);
  await way.again?.(by.server, held);
  for (const at of [0, 1] as const) await remove(by.server, held, at).catch(() => {});
  return found.length === 0 ? undefined : `${way.name}: wrong by ${found.join(", ")}`;
}

async function newKey({ token }: Person, [one, two]: readonly [Project, Project]) {
  const key = await tools.makeKey("ed25519");
  const body = { title: "test", key: key.line, can_push: true };
  const { id } = await installation.call<{ id: number }>("POST", `/projects/${one.id}/deploy_keys`, { token, body });
  await installation.call("POST", `/projects/${two.id}/deploy_keys/${id}/enable`, { token });
  return { key, keyId: id };
}

function addressOf({ sshPort }: Another, { path }: Project): string {
  return `ssh://git@127.0.0.1:${sshPort}/${path}.git`;
}

async function reads(place: Another, { key, client, projects }: Held, which: 0 | 1): Promise<boolean> {
  const env = tools.gitEnv(tools.withKey(key));
  const { code } = await git(["ls-remote", addressOf(place, projects[which])], { cwd: client.directory, env });
  return code === 0;
}

async function pushes(place: Another, { key, client, projects: [project] }: Held): Promise<boolean> {
  const [id = ""] = await client.commitsOn("key", [undefined]);
  const env = tools.gitEnv(tools.withKey(key));
  const ref = `refs/heads/${id.slice(0, 12)}`;
  return (await client.push(addressOf(place, project), [{ ref, id }], { env })).outcomes.get(ref) === "done";
}

function remove(by: RunningServer, { projects, keyId }: Held, which: 0 | 1) {
  return ask(by, "DELETE", `/projects/${projects[which].id}/deploy_keys/${keyId}`);
}

/** Asks a process for what must be done, as the administrator. */
async function ask({ url, token }: RunningServer, method: string, path: string, body?: object) {
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
