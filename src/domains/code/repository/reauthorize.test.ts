import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { buffer } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { FLUSH, packet } from "#git/pkt-line.ts";
import { ZERO_ID } from "#git/refs.ts";
import { Refusal } from "#lib/refusal.ts";
import { commit, packOf, pushedProject, type Pushing, pushingApp } from "#test/support/pushing.ts";
import { changeRefs } from "#domains/storage/pushes/change-refs.ts";
import type { Reauthenticate } from "#access/principal.ts";
import { receivePush } from "#domains/storage/pushes/receive.ts";

describe("reauthorizing a push before refs change", () => {
  let on: Pushing;
  before(async () => {
    on = await pushingApp();
  });
  after(() => on.close());

  /** A push of a Developer to `main` whose last bytes are held back while `meanwhile` runs. */
  async function held(
    happen: (project: { readonly id: number }, userId: number) => Promise<unknown>,
    by?: Reauthenticate,
  ) {
    const { project, copy, first } = await pushedProject(on);
    const developer = await on.member(project, "developer");
    const access = await on.open(developer, project, by);
    const second = await commit(copy);
    const pack = await packOf(copy, second, first);
    const input = new PassThrough();
    const line = packet(`${first} ${second} refs/heads/main\0 report-status side-band-64k`);
    input.write(Buffer.concat([line, FLUSH, pack.subarray(0, -20)]));
    const answer = await receivePush(on.app.services, access, input);
    const [intent] = await on.intents(project);
    await happen(project, developer.id);
    input.end(pack.subarray(-20));
    const said = (await buffer(answer)).toString();
    const taken = (await on.refAt(project, "refs/heads/main")) === second;
    assert.deepEqual(await on.intents(project), []);
    assert.equal((await on.events(project)).length, taken ? 2 : 1);
    return { said, taken, pushId: intent?.id, access, userId: developer.id, project, first, second };
  }
  const removeMember = ({ id }: { readonly id: number }, userId: number) => {
    const member = on.app.services.db.write.deleteFrom("members").where("user_id", "=", userId);
    return member.where("project_id", "=", id).execute();
  };

  test("a push is accepted if nothing has changed", async () => {
    const { said, taken } = await held(() => Promise.resolve());
    assert.ok(taken, said);
  });

  test("a push is refused with the reason if its sender is no longer a member; the log names the push", async () => {
    const { said, taken, pushId } = await held(removeMember);
    assert.equal(taken, false);
    assert.ok(said.includes("\u0002Project Not Found\n"), said);
    assert.match(said, /ng refs\/heads\/main pre-receive hook declined/);
    const lines = on.app.logged.map((line) => JSON.parse(line) as Record<string, unknown>);
    const line = lines.find(
      ({ push, msg }) => push === pushId && msg === "refused a push whose permission was revoked",
    );
    assert.equal(line?.["reason"], "Project Not Found");
  });

  test("a push is refused if the credential belongs to another principal", async () => {
    const { id, ...user } = on.owner;
    const other = { ...user, id, name: user.username, state: "active", user_type: "human", admin: true } as const;
    const flags = { external: false, confirmed: true, password_expired: false, service_account_group_id: null };
    const reauthenticate = () => Promise.resolve({ kind: "user by job", user: { ...other, ...flags } } as const);
    const { said, taken } = await held(() => Promise.resolve(), reauthenticate);
    assert.equal(taken, false);
    assert.ok(said.includes("\u0002Unauthorized\n"), said);
  });

  test("a push is refused without a reason if it cannot be decided", async () => {
    const reauthenticate = () => Promise.reject(new Error("password of the database"));
    const { said, taken } = await held(() => Promise.resolve(), reauthenticate);
    assert.equal(taken, false);
    assert.match(said, /It could not be verified that you may still push\. Please try again\.\n/);
    assert.doesNotMatch(said, /database/);
  });

  test("a change over the API is reauthorized while git holds the locks", async () => {
    const { access, userId, project, first, second } = await held(() => Promise.resolve());
    const change = { ref: "refs/heads/new", oldId: ZERO_ID, newId: first };
    const reauthorize: typeof access.reauthorize = async (changes) => {
      await removeMember(project, userId);
      await access.reauthorize(changes);
    };
    await assert.rejects(
      changeRefs(on.app.services, { ...access, reauthorize }, [change]),
      (error) => error instanceof Refusal && error.kind === "missing",
    );
    assert.equal(await on.refAt(project, "refs/heads/new"), "");
    assert.deepEqual(await on.intents(project), []);
    // No lock is left behind.
    const owned = await on.open(on.owner, project);
    await changeRefs(on.app.services, owned, [change, { ref: "refs/heads/main", oldId: second, newId: first }]);
  });
});
