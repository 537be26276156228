import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ZERO_ID } from "#git/refs.ts";
import { type Kind, Refusal } from "#lib/refusal.ts";
import { gitOutput } from "#test/support/git.ts";
import { commit, pushedProject, type Pushing, pushingApp } from "#test/support/pushing.ts";
import { changeRefs } from "./change-refs.ts";

describe("changing refs over the API", () => {
  let on: Pushing;
  before(async () => {
    on = await pushingApp();
  });
  after(() => on.close());

  const refused = (kind: Kind, pattern: RegExp) => (error: unknown) =>
    error instanceof Refusal && error.kind === kind && pattern.test(error.message);

  /** A project with two commits; `main` points to the second and `old` to the first. */
  async function twoCommits() {
    const { project, copy, first } = await pushedProject(on);
    const second = await commit(copy);
    const { code } = await on.push(copy, project, on.owner, "main", `${first}:refs/heads/old`);
    assert.equal(code, 0);
    return { project, copy, first, second, eventsBefore: (await on.events(project)).length };
  }

  test("is recorded like a push", async () => {
    const { project, first, second, eventsBefore } = await twoCommits();
    await changeRefs(on.app.services, await on.open(on.owner, project), [
      { ref: "refs/heads/new", oldId: ZERO_ID, newId: first },
      { ref: "refs/heads/old", oldId: first, newId: second },
      { ref: "refs/tags/v1", oldId: ZERO_ID, newId: second },
    ]);
    assert.equal(await on.refAt(project, "refs/heads/old"), second);
    assert.deepEqual(
      (await on.events(project))
        .slice(eventsBefore)
        .map(({ ref, push_action, ref_type }) => [ref, push_action, ref_type]),
      [
        ["new", "created", "branch"],
        ["old", "pushed", "branch"],
        ["v1", "created", "tag"],
      ],
    );
    assert.deepEqual(await on.intents(project), []);
  });

  test("follows the rules of a push", async () => {
    const { project, copy, first, second, eventsBefore } = await twoCommits();
    const opened = await on.open(await on.member(project, "developer"), project);
    const change = (ref: string, oldId: string, newId: string) =>
      changeRefs(on.app.services, opened, [{ ref, oldId, newId }]);
    await assert.rejects(change("refs/heads/main", second, first), refused("forbidden", /force push/));
    await assert.rejects(change("refs/heads/main", second, ZERO_ID), refused("forbidden", /delete the default branch/));
    await assert.rejects(change("refs/notes/x", ZERO_ID, first), refused("forbidden", /only branches/));
    assert.equal((await on.events(project)).length, eventsBefore);
    assert.equal((await on.intents(project)).length, 0);
    await change("refs/heads/old", first, second);
    await change("refs/heads/old", second, first);
    await change("refs/heads/old", first, ZERO_ID);
    const third = await commit(copy);
    assert.equal((await on.push(copy, project, on.owner, "main:next")).code, 0);
    await change("refs/heads/main", second, third);
  });

  test("is atomic, and refused if a ref is not at its old id", async () => {
    const { project, first, second, eventsBefore } = await twoCommits();
    const opened = await on.open(on.owner, project);
    const good = { ref: "refs/heads/good", oldId: ZERO_ID, newId: first };
    for (const bad of [
      { ref: "refs/heads/main", oldId: first, newId: second },
      { ref: "refs/heads/main", oldId: ZERO_ID, newId: first },
      { ref: "refs/heads/none", oldId: first, newId: second },
      { ref: "refs/heads/main/below", oldId: ZERO_ID, newId: first },
    ]) {
      await assert.rejects(changeRefs(on.app.services, opened, [good, bad]), refused("conflict", /meanwhile/));
    }
    assert.equal(await on.refAt(project, "refs/heads/good"), "");
    assert.equal((await on.events(project)).length, eventsBefore);
    assert.deepEqual(await on.intents(project), []);
  });

  test("by many callers at once succeeds for one of them", async () => {
    const { project, copy, second, eventsBefore } = await twoCommits();
    const opened = await on.open(on.owner, project);
    const tree = await gitOutput(["rev-parse", "main^{tree}"], { cwd: copy });
    const names = ["a", "b", "c", "d", "e"];
    for (const name of names) {
      const id = await gitOutput(["commit-tree", "-p", second, "-m", name, tree], { cwd: copy });
      await gitOutput(["branch", name, id], { cwd: copy });
    }
    assert.equal((await on.push(copy, project, on.owner, ...names)).code, 0);
    const results = await Promise.allSettled(
      names.map(async (name) => {
        const newId = await on.refAt(project, `refs/heads/${name}`);
        await changeRefs(on.app.services, opened, [{ ref: "refs/heads/main", oldId: second, newId }]);
        return newId;
      }),
    );
    const won = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    assert.equal(won.length, 1);
    assert.equal(await on.refAt(project, "refs/heads/main"), won[0]);
    // One for the five branches together, one for the change that won.
    assert.equal((await on.events(project)).length, eventsBefore + 2);
  });
});
