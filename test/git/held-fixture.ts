import { join } from "node:path";
import { projectRepository } from "#git/storages/storage.ts";
import { gitOutput } from "#test/support/git.ts";
import type { ClientKey, SshTools } from "#test/support/ssh.ts";
import type { Client } from "./client.ts";
import type { Installation } from "./installation.ts";

export type Credential = "token" | "session" | "sudo" | "key" | "deploy key";

/** The change that a push makes; the two of `main` are reserved to Maintainers. */
export type RefUpdate = "new branch" | "forced main" | "deleted main" | "forced branch";

/** A project and a user who may push to it, created for one attempt. */
export interface PushFixture {
  readonly installation: Installation;
  readonly client: Client;
  readonly project: { readonly id: number; readonly path: string };
  readonly groupId: number;
  readonly userId: number;
  /** The credentials of a request over HTTP. */
  readonly headers: Readonly<Record<string, string>>;
  readonly tokenId: number | undefined;
  /** The administrator who acts as the user. */
  readonly sudoerId: number | undefined;
  readonly key: ClientKey | undefined;
  readonly keyId: number | undefined;
  readonly directory: string;
  /** The initial commit of `main`. */
  readonly main: string;
}

const PASSWORD = "Nine-Knots-And-A-Splice";
let created = 0;

export async function createFixture(
  installation: Installation,
  tools: SshTools,
  client: Client,
  { credential, level }: { credential: Credential; level: number },
): Promise<PushFixture> {
  const { call } = installation;
  const name = `w${++created}`;
  const group = await call<{ id: number }>("POST", "/groups", { body: { name, path: `${name}-group` } });
  const body = { name, namespace_id: group.id, initialize_with_readme: true, visibility: "private" };
  const project = await call<{ id: number; path_with_namespace: string }>("POST", "/projects", { body });
  const columns = { username: name, name, email: `${name}@example.com` };
  // Hashing a password takes as long as all the rest.
  const password = credential === "session" ? { password: PASSWORD } : { force_random_password: true };
  const user = await call<{ id: number }>("POST", "/users", {
    body: { ...columns, ...password, skip_confirmation: true },
  });
  await call("POST", `/projects/${project.id}/members`, { body: { user_id: user.id, access_level: level } });
  // The first read creates the repository.
  const branch = `/projects/${project.id}/repository/branches/main`;
  const { commit } = await call<{ commit: { id: string } }>("GET", branch);
  const directory = join(installation.dataDir, "repositories", `${projectRepository(project.id)}.git`);
  return {
    installation,
    client,
    project: { id: project.id, path: project.path_with_namespace },
    groupId: group.id,
    userId: user.id,
    directory,
    main: commit.id,
    ...{ headers: {}, tokenId: undefined, sudoerId: undefined, key: undefined, keyId: undefined },
    ...(await credentialsOf(installation, tools, credential, {
      userId: user.id,
      username: name,
      projectId: project.id,
    })),
  };
}

type Owner = { readonly userId: number; readonly username: string; readonly projectId: number };

function credentialsOf(installation: Installation, tools: SshTools, credential: Credential, owner: Owner) {
  if (credential === "token") return tokenOf(installation, owner.userId);
  if (credential === "session") return sessionOf(installation, owner);
  if (credential === "sudo") return sudoFor(installation, owner);
  return keyOf(installation, tools, credential, owner);
}

async function tokenOf({ call }: Installation, userId: number, scopes = ["api"]) {
  const path = `/users/${userId}/personal_access_tokens`;
  const { id, token } = await call<{ id: number; token: string }>("POST", path, { body: { name: "test", scopes } });
  return { tokenId: id, headers: { "private-token": token } };
}

async function sudoFor(installation: Installation, { username }: Owner) {
  const columns = { username: `${username}-admin`, name: "Admin", email: `${username}-admin@example.com` };
  const body = { ...columns, force_random_password: true, skip_confirmation: true, admin: true };
  const { id } = await installation.call<{ id: number }>("POST", "/users", { body });
  const { tokenId, headers } = await tokenOf(installation, id, ["api", "sudo"]);
  return { tokenId, sudoerId: id, headers: { ...headers, sudo: username } };
}

async function sessionOf(installation: Installation, { username }: Owner) {
  const response = await fetch(`${installation.server().url}/api/v4/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ login: username, password: PASSWORD }),
  });
  const text = await response.text();
  if (response.status >= 300) throw new Error(`signing in was answered ${response.status} ${text}`);
  const [cookie = ""] = response.headers.getSetCookie().map((each) => each.split(";", 1)[0] ?? "");
  const csrf = response.headers.get("x-csrf-token") ?? "";
  return { headers: { cookie, "x-csrf-token": csrf, "sec-fetch-site": "same-origin" } };
}

async function keyOf({ call }: Installation, tools: SshTools, kind: "key" | "deploy key", owner: Owner) {
  const key = await tools.makeKey("ed25519");
  const [path, body] =
    kind === "key"
      ? [`/users/${owner.userId}/keys`, { title: "test", key: key.line }]
      : [`/projects/${owner.projectId}/deploy_keys`, { title: "test", key: key.line, can_push: true }];
  return { key, keyId: (await call<{ id: number }>("POST", path, { body })).id };
}

/** All refs of the repository on disk. */
export const refsOf = ({ directory }: PushFixture): Promise<string> =>
  gitOutput(["for-each-ref", "--format=%(objectname) %(refname)"], { cwd: directory });
