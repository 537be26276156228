import { projectRepository, type Repository } from "#git/storages/storage.ts";
import { collect } from "#git/process.ts";
import type { TestApp, TestUser } from "#test/support/app.ts";

export interface Code {
  readonly owner: TestUser;
  readonly project: { readonly id: number; readonly path_with_namespace: string; readonly web_url: string };
  readonly repository: Repository;
  /** The path of the repository in the API. */
  readonly path: string;
}

/** Creates a project with the commits of a `fast-import` stream. */
export async function codeOf(app: TestApp, stream: string | Buffer, settings: object = {}): Promise<Code> {
  const owner = await app.makeUser();
  const payload = { name: `code ${owner.username}`, default_branch: "main", ...settings };
  const { body: project } = await app.post("/projects", { token: owner.token, payload });
  const repository = app.services.git.storage("default").repository(projectRepository(project.id));
  await repository.create("main");
  await importInto(repository, stream);
  return { owner, project, repository, path: `/projects/${project.id}/repository` };
}

export async function importInto(repository: Repository, stream: string | Buffer) {
  if (stream.length === 0) return;
  const running = await repository.run({
    command: "fast-import",
    options: ["--quiet", "--date-format=raw"],
    input: stream,
  });
  await collect(running.output);
  await running.ended;
}

export interface CommitPlan {
  readonly ref?: string;
  readonly message: string;
  readonly files?: Readonly<Record<string, string | Buffer>>;
  readonly executable?: readonly string[];
  readonly removed?: readonly string[];
  readonly author?: string;
  /** Seconds since 1970 and a zone. */
  readonly at?: string;
  readonly from?: string;
  readonly merge?: string;
}

const data = (bytes: Buffer) => [Buffer.from(`data ${bytes.length}\n`), bytes, Buffer.from("\n")];

/** A `fast-import` stream of commits, by default each on top of the previous one of its ref. */
export function streamOfCommits(plans: readonly CommitPlan[]): Buffer {
  return Buffer.concat(
    plans.flatMap(({ ref = "refs/heads/main", message, files = {}, removed = [], executable = [], ...plan }, at) => {
      const who = `${plan.author ?? "Ada Lovelace <ada@example.com>"} ${plan.at ?? `${1_700_000_000 + at * 60} +0200`}`;
      return [
        Buffer.from(`commit ${ref}\nmark :${at + 1}\nauthor ${who}\ncommitter ${who}\n`),
        ...data(Buffer.from(message)),
        Buffer.from(plan.from === undefined ? "" : `from ${plan.from}\n`),
        Buffer.from(plan.merge === undefined ? "" : `merge ${plan.merge}\n`),
        ...removed.map((path) => Buffer.from(`D ${path}\n`)),
        ...Object.entries(files).flatMap(([path, content]) => [
          Buffer.from(`M ${executable.includes(path) ? "100755" : "100644"} inline "${path}"\n`),
          ...data(Buffer.from(content)),
        ]),
        Buffer.from("\n"),
      ];
    }),
  );
}

/** An annotated tag for such a stream. */
export const streamOfTag = (name: string, from: string, message: string) =>
  Buffer.from(
    `tag ${name}\nfrom ${from}\ntagger Ada Lovelace <ada@example.com> 1700003600 +0000\ndata ${Buffer.byteLength(message)}\n${message}\n`,
  );
