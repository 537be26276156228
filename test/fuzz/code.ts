import { cp, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { sql } from "kysely";
import { projectRepository } from "#git/storages/storage.ts";
import {
  type CommitPlan,
  importInto,
  streamOfCommits,
  streamOfTag,
} from "#domains/storage/repositories/test-support.ts";
import type { TestApp } from "#test/support/app.ts";
import { gitOutput } from "#test/support/git.ts";
import { codeProblems } from "./code-problems.ts";
import { incompressible, printable } from "./values.ts";
import type { Container, Places } from "./tree.ts";

/** Projects whose repositories all have the same content. */
export interface Code {
  readonly places: readonly Container[];
  /** The commits of `main`, from the first on. */
  readonly commits: readonly string[];
  /** Each of the topics has one commit that no other branch has. */
  readonly topics: readonly { readonly branch: string; readonly commit: string }[];
  readonly blobs: readonly string[];
  /** A commit on top of `main` that does not exist yet, and a pack with it. */
  readonly newCommit: { readonly commit: string; readonly pack: Buffer };
  /** Restores the repositories; no request may run meanwhile. */
  restore(): Promise<void>;
  /** The problems of repositories and of the directories around them, once all work is done. */
  problems(): Promise<string[]>;
  /** The paths on disk, which no response may contain. */
  readonly hidden: readonly string[];
}

const CHANGES = 12;
const TOPICS = 6;
const PROJECTS = 8;
/** Branches and tags that requests may delete. */
export const SPARE = Array.from({ length: 24 }, (_, at) => at);
export const spareBranch = (at: number) => `feature/${at}`;
export const spareTag = (at: number) => `v0.${at}`;
export const ODD_BRANCHES = [
  "fix-ünï",
  "release.json",
  "odd",
  "a".repeat(200),
  "0123456789abcdef0123456789abcdef01234567",
];
/** Files of each commit of `main`, in directories, with names that need escaping. */
export const FILES = ["README.md", "docs/guide.md", "docs/a/b/c.txt", "src/main.ts", "ünï/東京.txt", "with space.txt"];
export const ODD_FILES = ["bad\ufffd.txt", 'new\nline".txt', "link", "module"];
export const changeFile = (at: number) => `changes/${at}.txt`;

/** Creates the repositories of some projects as copies of one. */
export async function makeCode({ services }: TestApp, projects: Places): Promise<Code> {
  const places = await pickPlaces();
  const root = join(services.config.dataDir, "repositories");
  const directoryOf = ({ id }: Container) => join(root, `${projectRepository(id)}.git`);
  const [first] = places as [Container];
  const repository = services.git.storage("default").repository(projectRepository(first.id));
  await repository.create("main");
  await importInto(repository, importStream());
  const here = { cwd: directoryOf(first) };
  await gitOutput(["repack", "-a", "-d", "-q"], here);
  await gitOutput(["pack-refs", "--all"], here);
  const scratch = await mkdtemp(join(tmpdir(), "fairlead-fuzz-code-"));
  process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));
  const kept = join(scratch, "kept.git");
  await cp(here.cwd, kept, { recursive: true });
  const commits = (await gitOutput(["rev-list", "--reverse", "--first-parent", "main"], here)).split("\n");
  const topics = await Promise.all(
    Array.from({ length: TOPICS }, async (_, at) => {
      const branch = `topic/${at}`;
      return { branch, commit: await gitOutput(["rev-parse", branch], here) };
    }),
  );
  const blobs = (await gitOutput(["ls-tree", "-r", "--format=%(objecttype) %(objectname)", "main"], here))
    .split("\n")
    .flatMap((line) => (line.startsWith("blob ") ? [line.slice(5)] : []));
  const newCommit = await makeNewCommit(scratch, kept);
  await sql`insert into repositories (project_id, pushed_at)
    select id, now() from unnest(${places.map(({ id }) => id)}::bigint[]) id
    on conflict (project_id) do update set pushed_at = excluded.pushed_at, beginning = null`.execute(services.db.write);
  const code: Code = {
    ...{ places, commits, topics, blobs, newCommit },
    hidden: [services.config.dataDir, scratch, "@hashed"],
    async restore() {
      for (const place of places) {
        const directory = directoryOf(place);
        await rm(directory, { recursive: true, force: true });
        await mkdir(dirname(directory), { recursive: true });
        await cp(kept, directory, { recursive: true });
      }
    },
    problems: codeProblems(services, root),
  };
  await code.restore();
  return code;

  /** Projects that can be pushed to, of every visibility. */
  async function pickPlaces(): Promise<Container[]> {
    const { rows } = await sql<{ id: number }>`
      select p.id from projects p join namespaces n on n.id = p.namespace_id
      where not p.archived and p.marked_for_deletion_at is null and n.kind = 'group' and not exists (
        select from namespaces a where a.id = any(n.traversal_ids)
          and (a.archived or a.marked_for_deletion_at is not null))
      order by row_number() over (partition by p.visibility order by p.id), p.id`.execute(services.db.write);
    const wanted = new Set(rows.slice(0, PROJECTS).map(({ id }) => id));
    return projects.all.filter(({ id }) => wanted.has(id));
  }
}

/** A commit upon `main` in a copy of a repository, packed as a client packs it. */
async function makeNewCommit(scratch: string, kept: string) {
  const cwd = join(scratch, "newCommit.git");
  await cp(kept, cwd, { recursive: true });
  const plan: CommitPlan = {
    ref: "refs/heads/coming",
    ...{
      message: "Come",
      files: { "newCommit.txt": "coming\n", "README.md": "# Harbour\nnew\n" },
      from: "refs/heads/main^0",
    },
  };
  await gitOutput(["fast-import", "--quiet", "--date-format=raw"], { cwd, input: streamOfCommits([plan]) });
  const commit = await gitOutput(["rev-parse", "coming"], { cwd });
  const input = `${commit}\n^${await gitOutput(["rev-parse", "main"], { cwd })}\n`;
  const base = join(scratch, "pack");
  const name = await gitOutput(["pack-objects", "--revs", "-q", base], { cwd, input });
  return { commit, pack: await readFile(`${base}-${name}.pack`) };
}

/**
 * The history of every repository, as input of `git fast-import`. One file is larger than a pipe, so that the writer
 * waits for the reader.
 */
function importStream(): Buffer {
  const plans: CommitPlan[] = [
    {
      message: "Begin\n\nCo-authored-by: Zoë <zoe@example.com>\n",
      files: {
        ...Object.fromEntries(FILES.map((path) => [path, `${path}\n`])),
        "picture.bin": Buffer.of(0, 255, 1, 254),
        "large.txt": incompressible(300_000, printable),
      },
      executable: ["src/main.ts"],
    },
    ...Array.from({ length: CHANGES }, (_, at) => ({
      message: `Change ${at}`,
      files: { [changeFile(at)]: `change ${at}\n`.repeat(at + 1) },
    })),
    ...Array.from({ length: TOPICS }, (_, at) => ({
      ...{ ref: `refs/heads/topic/${at}`, message: `Topic ${at}`, from: ":5" },
      files: { [`topics/${at}.txt`]: `topic ${at}\n` },
    })),
  ];
  const [last, topic] = [CHANGES + 1, CHANGES + 2];
  const merge: CommitPlan = { message: "Merge topic/0", from: `:${last}`, merge: `:${topic}` };
  const text = (line: string) => Buffer.from(line);
  const reset = (ref: string, mark: number) => text(`reset ${ref}\nfrom :${mark}\n\n`);
  return Buffer.concat([
    streamOfCommits([...plans, merge]),
    ...SPARE.flatMap((at) => [
      reset(`refs/heads/${spareBranch(at)}`, last),
      at % 2 === 0 ? reset(`refs/tags/${spareTag(at)}`, 3) : streamOfTag(spareTag(at), ":3", `Version ${at}\n`),
    ]),
    ...ODD_BRANCHES.filter((name) => name !== "odd").map((name) => reset(`refs/heads/${name}`, 4)),
    // A tag with the name of a branch.
    reset("refs/tags/feature/0", 2),
    // Bytes that are not UTF-8 in a name, a message and a path; a symbolic link, and a submodule.
    Buffer.from(
      `commit refs/heads/odd\nauthor \xe4 <odd@example.com> 1700000000 +0000\ncommitter Odd <odd@example.com> 1700000000 +0000
data 4\n\xff\xfe\xfd\n
from :4\nM 100644 inline "bad\\377.txt"\ndata 1\n\xff\nM 100644 inline "new\\nline\\042.txt"\ndata 1\nx\nM 120000 inline link\ndata 9\nREADME.md\nM 160000 ${"1".repeat(40)} module\n\n`,
      "latin1",
    ),
  ]);
}
