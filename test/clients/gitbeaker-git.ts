// Deploy keys and repositories with @gitbeaker/rest 43.8.
import { deepEqual, equal, ok } from "node:assert/strict";
import { newSshKey } from "#test/support/ssh-keys.ts";
import { check, client, crew, ids, refused } from "./gitbeaker-support.ts";

const nowhere = 999_999_999;
const api = client();
const mate = await crew("beaker-keeper");
const hull = (await api.Projects.create({ name: "Beaker Keys" })).id;
const mast = (await api.Projects.create({ name: "Beaker Mast" })).id;
const own = (await mate.api.Projects.create({ name: "Beaker Own" })).id;
const line = newSshKey("hull@beaker");
let key = 0;

/** The client's types have fewer fields than its calls return. */
type Loose = Record<string, unknown>;
const loose = (value: unknown) => value as Loose;
const textOf = async (content: unknown) => (content instanceof Blob ? content.text() : String(content));

await check("deploy keys: create, and the key comes back as it was but for the newline", async () => {
  const options = { canPush: true, expiresAt: "2040-01-01T00:00:00Z" };
  const made = loose(await api.DeployKeys.create(hull, "Hull", `${line}\n`, options));
  key = Number(made["id"]);
  deepEqual([made["title"], made["key"], made["can_push"]], ["Hull", line, true]);
  equal(made["expires_at"], "2040-01-01T00:00:00.000Z");
});

await check("deploy keys: all of a project, show, and what is not there", async () => {
  deepEqual(ids(await api.DeployKeys.all({ projectId: hull })), [key]);
  equal((await api.DeployKeys.show(hull, key)).id, key);
  await refused(404, () => api.DeployKeys.show(hull, nowhere), "404 Not found");
  await refused(404, () => mate.api.DeployKeys.all({ projectId: hull }), "404 Project Not Found");
});

await check("deploy keys: edit", async () => {
  const edited = loose(await api.DeployKeys.edit(hull, key, { title: "Hull 2", canPush: false }));
  deepEqual([edited["title"], edited["can_push"]], ["Hull 2", false]);
  await refused(400, () => api.DeployKeys.edit(hull, key, {}), "at least one parameter must be provided");
});

await check("deploy keys: enable in another project, and refused where the key cannot be seen", async () => {
  equal((await api.DeployKeys.enable(mast, key)).id, key);
  await refused(404, () => mate.api.DeployKeys.enable(own, key), "404 Deploy key Not Found");
  await refused(400, () => mate.api.DeployKeys.create(own, "Mine", line), "has already been taken");
});

await check("deploy keys: all of the instance, public ones, and those in common with a user", async () => {
  const all = await api.DeployKeys.all({});
  const shown = loose(all.find(({ id }) => id === key));
  deepEqual(shown["projects_with_write_access"], []);
  deepEqual(ids(shown["projects_with_readonly_access"] as { id: number }[]), [hull, mast]);
  equal(ids(await api.DeployKeys.all({ public: true })).includes(key), false);
  ok(ids(await api.DeployKeys.all({ userId: "root" })).includes(key));
  await refused(403, () => mate.api.DeployKeys.all({ userId: "root" }), "No common authorized project found");
});

await check("deploy keys: Keys.show finds who added one", async () => {
  equal((await api.Keys.show({ keyId: key })).user.username, "root");
});

await check("deploy keys: remove", async () => {
  await api.DeployKeys.remove(mast, key);
  await api.DeployKeys.remove(hull, key);
  deepEqual(await api.DeployKeys.all({ projectId: hull }), []);
  await refused(404, () => api.DeployKeys.remove(hull, key), "404 Deploy key Not Found");
});

await check("commits: create is the first of a repository", async () => {
  const made = await api.Commits.create(hull, "main", "First", [
    { action: "create", filePath: "README.md", content: "# Hull\n" },
    { action: "create", filePath: "docs/plan.txt", content: "one\n" },
  ]);
  deepEqual([made.title, made.parent_ids], ["First", []]);
});

await check("repository: allRepositoryTrees, of a folder, recursive and by keyset, and blobs", async () => {
  const entries = await api.Repositories.allRepositoryTrees(hull);
  deepEqual(
    entries.map(({ type, path }) => [type, path]),
    [
      ["tree", "docs"],
      ["blob", "README.md"],
    ],
  );
  equal((await api.Repositories.allRepositoryTrees(hull, { path: "docs", ref: "main" }))[0]?.path, "docs/plan.txt");
  const keyset = { recursive: true, pagination: "keyset", perPage: 1 } as const;
  equal((await api.Repositories.allRepositoryTrees(hull, keyset)).length, 3);
  equal(await textOf(await api.Repositories.showBlobRaw(hull, entries[1]!.id)), "# Hull\n");
  equal(loose(await api.Repositories.showBlob(hull, entries[1]!.id))["size"], 7);
});

await check("files: create, show, showRaw, edit and remove", async () => {
  const made = await api.RepositoryFiles.create(hull, "docs/next.txt", "main", "two\n", "Second");
  deepEqual([made.file_path, made.branch], ["docs/next.txt", "main"]);
  const shown = await api.RepositoryFiles.show(hull, "docs/next.txt", "main");
  equal(Buffer.from(shown.content, "base64").toString(), "two\n");
  await api.RepositoryFiles.edit(hull, "README.md", "main", "# Keel\n", "Third");
  equal(await textOf(await api.RepositoryFiles.showRaw(hull, "README.md", "main")), "# Keel\n");
  await api.RepositoryFiles.remove(hull, "docs/next.txt", "main", "Fourth");
  await refused(404, () => api.RepositoryFiles.show(hull, "docs/next.txt", "main"));
});

await check("branches: create, all, show and remove", async () => {
  const made = await api.Branches.create(hull, "feature/sail", "main");
  deepEqual([made.name, made.default], ["feature/sail", false]);
  const names = (await api.Branches.all(hull)).map(({ name }) => name);
  deepEqual(new Set(names), new Set(["feature/sail", "main"]));
  equal((await api.Branches.show(hull, "feature/sail")).commit.id, (await api.Branches.show(hull, "main")).commit.id);
  await api.Branches.create(hull, "gone", "main");
  await api.Branches.remove(hull, "gone");
  await refused(404, () => api.Branches.show(hull, "gone"));
});

await check("tags: create, all, show and remove", async () => {
  equal((await api.Tags.create(hull, "v1.0", "main", { message: "One" })).name, "v1.0");
  await api.Tags.create(hull, "v0", "main");
  equal((await api.Tags.show(hull, "v0")).name, "v0");
  await api.Tags.remove(hull, "v0");
  deepEqual(
    (await api.Tags.all(hull)).map(({ name }) => name),
    ["v1.0"],
  );
});

await check("commits: all, show, showDiff, allReferences and cherryPick", async () => {
  const actions = [{ action: "create", filePath: "sail.txt", content: "white\n" }] as const;
  const made = await api.Commits.create(hull, "feature/sail", "Sail", [...actions]);
  equal((await api.Commits.all(hull, { refName: "feature/sail" }))[0]?.id, made.id);
  equal((await api.Commits.show(hull, made.id)).title, "Sail");
  equal((await api.Commits.showDiff(hull, made.id))[0]?.new_path, "sail.txt");
  equal((await api.Commits.allReferences(hull, made.id, { type: "branch" }))[0]?.name, "feature/sail");
  equal(loose(await api.Commits.cherryPick(hull, made.id, "main"))["title"], "Sail");
});

await check("repository: compare, mergeBase and showArchive", async () => {
  const compared = await api.Repositories.compare(hull, "v1.0", "feature/sail");
  deepEqual(
    (compared.commits ?? []).map(({ title }) => title),
    ["Sail"],
  );
  const base = loose(await api.Repositories.mergeBase(hull, ["main", "feature/sail"]));
  equal(base["id"], (await api.Tags.show(hull, "v1.0")).commit.id);
  const archive = await api.Repositories.showArchive(hull, { fileType: "zip" });
  equal(await archive.slice(0, 2).text(), "PK");
});
