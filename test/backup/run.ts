import assert from "node:assert/strict";
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { STEP_SECONDS, totpCode } from "#lib/totp.ts";
import { type Client, newClient } from "#test/git/client.ts";
import { pushOf, resultOf } from "#test/git/held-transports.ts";
import { gitOutput } from "#test/support/git.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";
import { multipart } from "#test/support/wire.ts";
import { blocks, emptyDatabase, hostKeys, newSite, ROOT_TOKEN, type Site } from "./site.ts";

const PASSWORD = "Nine-Knots-And-A-Splice";
const MAIN = "refs/heads/main";
/** One grey pixel. */
const PICTURE = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==",
  "base64",
);
const DOCTOR_IS_CONTENT = /^No problems found\.$/m;

interface Project {
  readonly id: number;
  readonly path_with_namespace: string;
}

interface Person {
  readonly id: number;
  readonly token: string;
  readonly secret: string;
  readonly avatar_url: string;
}

/** Runs the commands of docs/guides/backup.md, each backup in the installation that the one before was restored to. */
describe("the guide to backups", () => {
  let directory: string;
  let client: Client;
  let site: Site;
  let person: Person;
  let projects: Project[];
  let sites = 0;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "fairlead-backup-"));
    client = await newClient();
    site = await newSite(join(directory, "first"), await freshDatabase());
    await site.shell(["systemctl start fairlead"], "");
    await site.untilReady();
    person = await makePerson();
    await useStorage("default");
    projects = [await pushedProject()];
    await useStorage("fast");
    projects.push(await pushedProject());
  });
  after(async () => {
    await site.destroy();
    await client[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  async function makePerson(): Promise<Person> {
    const columns = { username: "ada", name: "Ada", email: "ada@example.com", password: PASSWORD };
    const { id } = await site.call<{ id: number }>("POST", "/users", { body: { ...columns, skip_confirmation: true } });
    await site.ask("update users set password_expired = false where id = $1", [id]);
    const path = `/users/${id}/personal_access_tokens`;
    const { token } = await site.call<{ token: string }>("POST", path, { body: { name: "test", scopes: ["api"] } });
    const body = { current_password: PASSWORD };
    const { secret } = await site.call<{ secret: string }>("POST", "/user/two_factor", { token, body });
    // The code of the step before leaves the present one unused.
    await site.call("PUT", "/user/two_factor", { token, body: { code: totpCode(secret, await step(-1)) } });
    const { payload, headers } = multipart({ avatar: { filename: "a.png", bytes: PICTURE } });
    const response = await fetch(`${site.url}/api/v4/user/avatar`, {
      method: "PUT",
      headers: { ...headers, "private-token": token },
      body: new Uint8Array(payload),
    });
    const { avatar_url } = (await response.json()) as { avatar_url: string };
    return { id, token, secret, avatar_url: new URL(avatar_url).pathname };
  }

  /** The number of a step of the second factor; the present one has at least five seconds left. */
  async function step(steps: number): Promise<number> {
    const left = () => STEP_SECONDS - ((Date.now() / 1000) % STEP_SECONDS);
    await until("a step begins", async () => left() > 5);
    return Math.floor(Date.now() / 1000 / STEP_SECONDS) + steps;
  }

  /** Lets new repositories go to one storage; every process knows a setting within a second. */
  async function useStorage(storage: string) {
    const weights = { repository_storages_weighted: { default: 0, fast: 0, [storage]: 100 } };
    await site.call("PUT", "/application/settings", { body: weights });
    await until("the setting counts", async () => (await newProject()).repository_storage === storage);
  }

  const newProject = () =>
    site.call<Project & { repository_storage: string }>("POST", "/projects", { body: { name: crypto.randomUUID() } });

  async function pushedProject(): Promise<Project> {
    const project = await newProject();
    await push(project, MAIN);
    return project;
  }

  async function push({ path_with_namespace: path }: Project, ref: string): Promise<string> {
    const [id = ""] = await client.commitsOn("pushed", [undefined], 10_000);
    const { output, outcomes } = await client.push(site.gitAddress(path), [{ ref, id }]);
    assert.equal(outcomes.get(ref), "done", output);
    return id;
  }

  const refsOf = ({ path_with_namespace: path }: Project) =>
    gitOutput(["ls-remote", site.gitAddress(path)], { cwd: client.directory });

  const pushesTo = async ({ id }: Project) =>
    (
      await site.ask<{ ref: string }>(
        "select ref from events where project_id = $1 and ref is not null order by events.id",
        [id],
      )
    ).map(({ ref }) => ref);

  /** Runs blocks of the guide, which must succeed. */
  async function follow(texts: readonly string[], backup: string): Promise<string> {
    const { code, output } = await site.shell(texts, backup);
    assert.equal(code, 0, output);
    return output;
  }

  /** Deletes the installation and restores a backup of it to other directories and another database. */
  async function restore(backup: string, texts = blocks("Restore")) {
    const databaseUrl = await emptyDatabase(site.databaseUrl, `restored_${++sites}`);
    await site.ask("drop schema public cascade");
    await site.destroy();
    site = await newSite(join(directory, `restored-${sites}`), databaseUrl);
    return site.shell(texts, backup);
  }

  /** A clone is compared object by object by git itself. */
  async function cloned({ id, path_with_namespace: path }: Project): Promise<string> {
    const cwd = client.directory;
    const name = `clone-${sites}-${id}`;
    await gitOutput(["clone", "--quiet", "--mirror", site.gitAddress(path), name], { cwd });
    await gitOutput([`--git-dir=${name}`, "fsck", "--full", "--strict"], { cwd });
    return gitOutput([`--git-dir=${name}`, "for-each-ref", "--format=%(objectname)\t%(refname)"], { cwd });
  }

  async function signIn(code: string): Promise<number> {
    const response = await fetch(`${site.url}/api/v4/session`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ login: "ada", password: PASSWORD, otp_attempt: code }),
    });
    await response.body?.cancel();
    return response.status;
  }

  test("brings back everything that was backed up while Fairlead was stopped", async () => {
    const state = async () => ({
      refs: await Promise.all(projects.map(refsOf)),
      pushes: await Promise.all(projects.map(pushesTo)),
      hostKeys: await hostKeys(site.sshPort),
      settings: await site.call("GET", "/application/settings"),
    });
    const saved = await state();
    assert.ok(saved.hostKeys.length > 0 && saved.pushes.every(({ length }) => length > 0));
    const backup = join(directory, "backup-1");
    await follow(blocks("Back up"), backup);
    await site.untilReady();
    // What comes after a backup is not in it.
    for (const project of projects) await push(project, "refs/heads/later");

    const { code, output } = await restore(backup);
    assert.equal(code, 0, output);
    assert.match(output, DOCTOR_IS_CONTENT);
    await site.untilReady();
    await until("SSH is served", async () => (await hostKeys(site.sshPort).catch(() => [])).length > 0);
    assert.deepEqual(await state(), saved);
    for (const project of projects) assert.match(await refsOf(project), new RegExp(`${await cloned(project)}$`));
  });

  test("brings back tokens, second factors and uploads", async () => {
    assert.equal((await site.call<{ id: number }>("GET", "/user", { token: person.token })).id, person.id);
    assert.equal(await signIn("000000"), 401);
    assert.equal(await signIn(totpCode(person.secret, await step(0))), 201);
    const response = await fetch(`${site.url}${person.avatar_url}`);
    assert.deepEqual(Buffer.from(await response.arrayBuffer()), PICTURE);
  });

  test("the restored installation takes pushes and new projects", async () => {
    const commit = await push(projects[0] as Project, "refs/heads/after");
    assert.match(await refsOf(projects[0] as Project), new RegExp(`^${commit}\trefs/heads/after$`, "m"));
    projects.push(await pushedProject());
  });

  test("without stopping, what was acknowledged before the dump is there, and later pushes without their events", async () => {
    const backup = join(directory, "backup-2");
    const [first, second] = projects as [Project, Project];
    const before = await push(first, "refs/heads/before");
    const held = await holdPush(second);
    await follow(blocks("Back up", "mkdir", "pg_dump "), backup);
    assert.match(await held.release(), /ok refs\/heads\/held/);
    const during = await push(first, "refs/heads/during");
    const stranger = await pushedProject();
    await site.call("DELETE", "/personal_access_tokens/self", { token: person.token });
    await site.kill();
    const rest = blocks("Back up", "mkdir", "data.tar", "repositories-", "SHA256SUMS");
    await follow(rest.map(withoutStart), backup);

    const { code, output } = await restore(backup);
    assert.equal(code, 0, output);
    assert.match(output, DOCTOR_IS_CONTENT);
    await site.untilReady();
    const refs = await refsOf(first);
    assert.match(refs, new RegExp(`^${before}\trefs/heads/before$`, "m"));
    assert.match(refs, new RegExp(`^${during}\trefs/heads/during$`, "m"));
    const pushes = await pushesTo(first);
    assert.ok(pushes.includes("before") && !pushes.includes("during"), String(pushes));
    await until("the push that was under way is recorded", async () => (await pushesTo(second)).includes("held"));
    await site.call("GET", "/user", { token: person.token });

    // Its id is given again, and its content must not be.
    const next = await newProject();
    assert.equal(next.id, stranger.id);
    assert.equal(await refsOf(next), "");
  });

  test("the doctor notices a repository that the other order lost", async () => {
    const backup = join(directory, "backup-3");
    await follow(blocks("Back up", "mkdir", "data.tar", "repositories-"), backup);
    const lost = await pushedProject();
    await follow(blocks("Back up", "mkdir", "pg_dump ", "SHA256SUMS").map(withoutStart), backup);
    const { code, output } = await restore(backup);
    assert.equal(code, 1, output);
    assert.match(output, new RegExp(`^BAD +Pushed to, but the repository is gone: 1 \\(project ${lost.id}\\)`, "m"));
    await site.shell(["systemctl start fairlead"], "");
    await site.untilReady();
  });

  /** Begins a push and holds its last bytes back, so that a dump sees it under way. */
  async function holdPush({ id, path_with_namespace: path }: Project) {
    const { ref, head, tail } = await pushOf({ client, main: "" }, "new branch");
    const asked = request(`${site.url}/${path}.git/git-receive-pack`, {
      method: "POST",
      agent: false,
      headers: { "private-token": ROOT_TOKEN, "content-type": "application/x-git-receive-pack-request" },
    });
    const answered = once(asked, "response") as Promise<[IncomingMessage]>;
    asked.write(head);
    const begun = "select from pushes where project_id = $1";
    await until("the push has begun", async () => (await site.ask(begun, [id])).length > 0);
    return {
      async release(): Promise<string> {
        asked.end(tail);
        const [answer] = await answered;
        return resultOf(await buffer(answer), ref).output;
      },
    };
  }
});

const withoutStart = (block: string) => block.replace("systemctl start fairlead\n", "");
