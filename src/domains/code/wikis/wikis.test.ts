import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { wikiRepository } from "#git/storages/storage.ts";
import { runWorker } from "#jobs/worker.ts";
import { jobs } from "#domains/index.ts";
import { type RowInserter, rowInserter } from "#domains/organization/members/test-support.ts";
import type { TestUser } from "#test/support/app.ts";
import { git, gitOutput, workingCopy } from "#test/support/git.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { commit, type Pushing, pushingApp } from "#test/support/pushing.ts";
import { until } from "#test/support/until.ts";

describe("wikis", () => {
  let on: Pushing;
  let admin: TestUser;
  let insert: RowInserter;
  before(async () => {
    on = await pushingApp({ databaseUrl: await freshDatabase() });
    admin = await on.app.makeUser({ admin: true });
    insert = rowInserter(on.app);
  });
  after(() => on.close());

  const post = (path: string, { token }: TestUser, payload: object = {}) => on.app.post(path, { token, payload });
  const put = (path: string, { token }: TestUser, payload: object) => on.app.put(path, { token, payload });
  const remove = (path: string, { token }: TestUser) => on.app.delete(path, { token });
  const get = (path: string, user?: TestUser) => on.app.get(path, user ? { token: user.token } : {});
  const address = (path: string, { token }: TestUser) => `http://any:${token}@127.0.0.1:${on.port}/${path}.git`;
  const slugs = async (path: string, user?: TestUser) =>
    (await get(path, user)).body.map(({ slug }: { slug: string }) => slug);
  const isStored = (kind: "project" | "group", id: number, storage = "default") =>
    on.app.services.git.storage(storage).repository(wikiRepository(kind, id)).exists();
  const working = async (work: () => Promise<void>) => {
    const worker = await runWorker(on.app.services, jobs, { queues: ["moves", "git", "bulk", "default"] });
    await work();
    await worker.stop();
  };

  /** A group with its path, of which the usual owner is Owner. */
  async function group(visibility = 0) {
    const id = await insert.group(undefined, { visibility });
    await insert.member(on.owner, { group_id: id }, "owner");
    const { body } = await get(`/groups/${id}`, on.owner);
    return { id, path: body.full_path as string };
  }

  for (const kind of ["project", "group"] as const) {
    test(`the wiki of a ${kind} has pages in directories, which change, move and go`, async () => {
      const { id, path } = kind === "project" ? await on.project() : await group();
      const wikis = `/${kind}s/${id}/wikis`;
      assert.deepEqual((await get(wikis, on.owner)).body, []);
      assert.equal((await get(`${wikis}/home`, on.owner)).status, 404);
      assert.equal((await put(`${wikis}/home`, on.owner, { content: "x" })).status, 404);
      const home = { title: "Home port", content: "# Welcome\n" };
      const { status, body } = await post(wikis, on.owner, home);
      assert.equal(status, 201);
      const shown = {
        format: "markdown",
        slug: "Home-port",
        title: "Home port",
        content: "# Welcome\n",
        encoding: "UTF-8",
      };
      assert.deepEqual(body, shown);
      assert.deepEqual((await get(`${wikis}/Home-port`, on.owner)).body, shown);
      assert.equal((await post(wikis, on.owner, home)).status, 400);
      const deep = { title: "rope/splices/long one", content: "= Long", format: "asciidoc" };
      assert.deepEqual((await post(wikis, on.owner, deep)).body.slug, "rope/splices/long-one");
      const { content: _, encoding: __, ...listed } = shown;
      assert.deepEqual((await get(wikis, on.owner)).body, [
        listed,
        { format: "asciidoc", slug: "rope/splices/long-one", title: "long one" },
      ]);
      const contents = (await get(`${wikis}?with_content=true`, on.owner)).body;
      assert.deepEqual(
        contents.map((page: { content: string }) => page.content),
        ["# Welcome\n", "= Long"],
      );
      assert.deepEqual(await slugs(`${wikis}?per_page=1&page=2`, on.owner), ["rope/splices/long-one"]);

      const page = `${wikis}/${encodeURIComponent("rope/splices/long-one")}`;
      assert.equal((await put(page, on.owner, { content: "= Longer" })).body.content, "= Longer");
      assert.equal((await put(page, on.owner, { title: "Home port" })).status, 400);
      const { body: moved } = await put(page, on.owner, { title: "splices", format: "markdown" });
      assert.deepEqual([moved.slug, moved.format, moved.content], ["splices", "markdown", "= Longer"]);
      assert.equal((await get(page, on.owner)).status, 404);
      assert.equal((await put(`${wikis}/splices`, on.owner, {})).status, 400);
      assert.equal((await post(wikis, on.owner, { title: "../up", content: "x" })).status, 400);

      const copy = await workingCopy();
      await gitOutput(["clone", "--quiet", address(`${path}.wiki`, on.owner), "wiki"], { cwd: copy });
      const wiki = `${copy}/wiki`;
      assert.equal(
        await gitOutput(["log", "--format=%s"], { cwd: wiki }),
        [
          "Update page: long one",
          "Update page: long one",
          "Create page: rope/splices/long one",
          "Create page: Home port",
        ].join("\n"),
      );
      const before = await gitOutput(["rev-parse", "HEAD~1"], { cwd: wiki });
      assert.equal((await get(`${page}?version=${before}`, on.owner)).body.content, "= Longer");
      assert.equal((await get(`${page}?version=${before.replaceAll(/[0-9a-f]/g, "0")}`, on.owner)).status, 404);
      await gitOutput(["mv", "splices.md", "knots.markdown"], { cwd: wiki });
      await commit(wiki);
      assert.equal((await git(["push", "--quiet", "origin", "main"], { cwd: wiki })).code, 0);
      assert.deepEqual(await slugs(wikis, on.owner), ["Home-port", "knots"]);
      assert.match(
        (await git(["push", "origin", "main:other"], { cwd: wiki })).stderr,
        /a wiki has only the branch main/,
      );
      assert.equal((await remove(`${wikis}/knots`, on.owner)).status, 204);
      assert.equal((await remove(`${wikis}/knots`, on.owner)).status, 404);
      assert.deepEqual(await slugs(wikis, on.owner), ["Home-port"]);
    });
  }

  test("what people push is shown as far as it fits, and kept as it is", async () => {
    const project = await on.project();
    const wikis = `/projects/${project.id}/wikis`;
    await post(wikis, on.owner, { title: "Home", content: "x" });
    const copy = await workingCopy();
    await gitOutput(["clone", "--quiet", address(`${project.path}.wiki`, on.owner), "wiki"], { cwd: copy });
    const wiki = `${copy}/wiki`;
    const latin = Buffer.from("caf\xe9\n", "latin1");
    await writeFile(`${wiki}/latin.md`, latin);
    await writeFile(`${wiki}/long.md`, "x".repeat(5 * 2 ** 20));
    await writeFile(`${wiki}/huge.md`, "x".repeat(11 * 2 ** 20));
    await commit(wiki);
    assert.equal((await git(["push", "--quiet", "origin", "main"], { cwd: wiki })).code, 0);
    const listed = await get(`${wikis}?with_content=true`, on.owner);
    assert.deepEqual(
      listed.body.map((page: { slug: string; content?: string }) => [page.slug, page.content?.length]),
      [
        ["Home", 1],
        ["huge", undefined],
        ["latin", 5],
        ["long", undefined],
      ],
    );
    assert.equal(listed.headers["x-truncated"], "true");
    assert.equal((await get(`${wikis}/long`, on.owner)).body.content.length, 5 * 2 ** 20);
    const tooLong = await get(`${wikis}/huge`, on.owner);
    assert.deepEqual([tooLong.status, /clone the wiki/.test(tooLong.text)], [413, true]);

    // A page that only moves keeps bytes that are no UTF-8; one that stays the same is not written.
    assert.equal((await put(`${wikis}/latin`, on.owner, { title: "French" })).body.slug, "French");
    assert.equal((await put(`${wikis}/French`, on.owner, { format: "markdown" })).status, 200);
    await gitOutput(["pull", "--quiet"], { cwd: wiki });
    assert.deepEqual(await readFile(`${wiki}/French.md`), latin);
    assert.equal(await gitOutput(["log", "--format=%s", "-1"], { cwd: wiki }), "Update page: latin");
    for (const title of ["/", "//", " / "]) {
      const { status } = await post(wikis, on.owner, { title, content: "x" });
      assert.equal(status, 400, title);
      assert.equal((await put(`${wikis}/Home`, on.owner, { title })).status, 400, title);
    }
  });

  test("a wiki without pages cannot be cloned, nor can one that the caller may not see", async () => {
    const { path } = await on.project();
    const stranger = await on.app.makeUser();
    const [empty, hidden] = [
      await git(["ls-remote", address(`${path}.wiki`, on.owner)], { cwd: "/" }),
      await git(["ls-remote", address(`${path}.wiki`, stranger)], { cwd: "/" }),
    ];
    assert.match(empty.stderr, /not found|no repository/i);
    assert.equal(hidden.stderr.replaceAll(stranger.token, ""), empty.stderr.replaceAll(on.owner.token, ""));
  });

  test("those of projects are read by whoever may use them, and written by Developers", async () => {
    const project = await on.project();
    const wikis = `/projects/${project.id}/wikis`;
    const [guest, reporter, developer] = [
      await on.member(project, "guest"),
      await on.member(project, "reporter"),
      await on.member(project, "developer"),
    ];
    const page = { title: "Home", content: "x" };
    assert.equal((await post(wikis, reporter, page)).status, 403);
    assert.equal((await post(wikis, developer, page)).status, 201);
    assert.equal((await get(`${wikis}/Home`, guest)).status, 200);
    const copy = await workingCopy();
    await gitOutput(["clone", "--quiet", address(`${project.path}.wiki`, guest), "wiki"], { cwd: copy });
    await commit(`${copy}/wiki`);
    const push = (user: TestUser, ...what: string[]) =>
      git(["push", address(`${project.path}.wiki`, user), ...what], { cwd: `${copy}/wiki` });
    assert.match((await push(reporter, "main")).stderr, /You are not allowed to change the wiki of this project/);
    assert.equal((await push(developer, "main")).code, 0);
    await gitOutput(["reset", "--quiet", "--hard", "HEAD~1"], { cwd: `${copy}/wiki` });
    assert.match((await push(developer, "--force", "main")).stderr, /not allowed to force push/);
    assert.equal((await push(on.owner, "--force", "main")).code, 0);
    await put(`/projects/${project.id}`, on.owner, { wiki_access_level: "disabled" });
    assert.equal((await get(wikis, developer)).status, 403);
    assert.match((await push(developer, "main")).stderr, /switched off/);
    await put(`/projects/${project.id}`, on.owner, { wiki_access_level: "private", visibility: "public" });
    assert.equal((await get(wikis)).status, 403);
    await put(`/projects/${project.id}`, on.owner, { wiki_access_level: "enabled" });
    assert.equal((await get(wikis)).status, 200);
  });

  test("those of groups are for whom the group and its setting say", async () => {
    const { id, path } = await group(20);
    const wikis = `/groups/${id}/wikis`;
    await post(wikis, on.owner, { title: "Home", content: "x" });
    const member = await on.app.makeUser();
    await insert.member(member, { group_id: id }, "guest");
    assert.deepEqual([(await get(wikis)).status, (await get(wikis, member)).status], [200, 200]);
    await put(`/groups/${id}`, on.owner, { wiki_access_level: "private" });
    assert.deepEqual([(await get(wikis)).status, (await get(wikis, member)).status], [403, 200]);
    assert.equal((await git(["ls-remote", address(`${path}.wiki`, member)], { cwd: "/" })).code, 0);
    await put(`/groups/${id}`, on.owner, { wiki_access_level: "disabled" });
    assert.deepEqual([(await get(wikis, admin)).status, (await get(wikis, member)).status], [403, 403]);
    assert.equal((await post(wikis, on.owner, { title: "x", content: "x" })).status, 403);
  });

  test("that of a project moves with it, that of a group by itself", async () => {
    const project = await on.project();
    await post(`/projects/${project.id}/wikis`, on.owner, { title: "Home", content: "Moved" });
    const { body: move } = await post(`/projects/${project.id}/repository_storage_moves`, admin, {
      destination_storage_name: "second",
    });
    const { id } = await group();
    await post(`/groups/${id}/wikis`, on.owner, { title: "Home", content: "Moved" });
    const { status, body: groupMove } = await post(`/groups/${id}/repository_storage_moves`, admin, {
      destination_storage_name: "second",
    });
    assert.equal(status, 201);
    assert.deepEqual([groupMove.group.id, groupMove.repository_type], [id, "wiki"]);
    const moves = (await get(`/projects/${project.id}/repository_storage_moves`, admin)).body;
    assert.deepEqual(
      moves.map((one: { id: number; repository_type: string }) => [one.id === move.id, one.repository_type]),
      [
        [false, "wiki"],
        [true, "code"],
      ],
    );
    const isMoved = async (path: string) => /replicated|finished/.test((await get(path, admin)).body.state);
    await working(async () => {
      await until("all have moved", async () => {
        const all = moves.map((one: { id: number }) => isMoved(`/project_repository_storage_moves/${one.id}`));
        return (await Promise.all([...all, isMoved(`/group_repository_storage_moves/${groupMove.id}`)])).every(Boolean);
      });
    });
    assert.equal((await get(`/projects/${project.id}/wikis/Home`, on.owner)).body.content, "Moved");
    assert.equal((await put(`/groups/${id}/wikis/Home`, on.owner, { content: "On" })).body.content, "On");
    // A group whose wiki has no page yet moves as a record.
    const { id: empty } = await group();
    assert.equal((await post(`/groups/${empty}/repository_storage_moves`, admin)).status, 201);
    assert.equal((await post("/group_repository_storage_moves", admin, { source_storage_name: "second" })).status, 202);
    assert.equal((await post(`/groups/${empty}/repository_storage_moves`, on.owner)).status, 403);
  });

  test("go with their project or group", async () => {
    const project = await on.project();
    const { id, path } = await group();
    await post(`/projects/${project.id}/wikis`, on.owner, { title: "Home", content: "x" });
    await post(`/groups/${id}/wikis`, on.owner, { title: "Home", content: "x" });
    assert.ok((await isStored("project", project.id)) && (await isStored("group", id)));
    for (const [place, full_path] of [
      [`/projects/${project.id}`, project.path],
      [`/groups/${id}`, path],
    ] as const) {
      await remove(place, on.owner);
      const payload = { permanently_remove: true, full_path };
      await on.app.call("DELETE", place, { token: on.owner.token, payload });
    }
    await working(async () => {
      await until("the wiki of the project is gone", async () => !(await isStored("project", project.id)));
      await until("that of the group is gone", async () => !(await isStored("group", id)));
    });
  });
});
