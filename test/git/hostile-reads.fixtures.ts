import { join } from "node:path";
import { projectRepository } from "#git/storages/storage.ts";
import { testApp } from "#test/support/app.ts";
import * as hostile from "#test/support/hostile-repositories.ts";
import { listen } from "#test/support/wire.ts";

interface Case {
  readonly make: (directory: string) => Promise<void>;
  /** Requests, and whether each response is complete. */
  readonly reads: Readonly<Record<string, "whole" | "truncated" | "refused">>;
}

/** Smaller than an attack where that shows the same. */
export const CASES: Readonly<Record<string, Case>> = {
  "long messages": {
    make: (directory) => hostile.longMessages(directory, { commits: 104 }),
    reads: {
      "compare?from=ROOT&to=main": "truncated",
      "commits?per_page=100&trailers=true": "truncated",
      "commits/main": "whole",
      "branches?per_page=100": "truncated",
      "merge_base?refs[]=main&refs[]=main": "whole",
      contributors: "whole",
    },
  },
  "long names of authors": {
    make: (directory) => hostile.longNames(directory, { commits: 20 }),
    reads: {
      "contributors?per_page=100": "truncated",
      "commits?per_page=100": "truncated",
      "commits/main": "truncated",
    },
  },
  "blank messages": {
    make: (directory) => hostile.blankMessages(directory),
    reads: { "commits?per_page=100&trailers=true": "truncated", "compare?from=ROOT&to=main": "truncated" },
  },
  "many parents": {
    make: (directory) => hostile.manyParents(directory),
    reads: { "commits?per_page=100": "truncated", "commits/main": "truncated", "commits/main/diff": "whole" },
  },
  "a wide tree": {
    make: (directory) => hostile.wideTree(directory),
    reads: {
      tree: "whole",
      "tree?page=400&per_page=100": "whole",
      "tree?recursive=true&page=400&per_page=100": "whole",
      "tree?pagination=keyset&per_page=100&page_token=0a00d": "whole",
      "tree?pagination=keyset&per_page=100&recursive=true": "whole",
      "tree?pagination=keyset&per_page=100&recursive=true&page_token=0a00d": "whole",
      "files/0a00d?ref=main": "whole",
    },
  },
  "an endless tree": {
    make: (directory) => hostile.endlessTree(directory),
    reads: {
      "tree?recursive=true&per_page=100": "whole",
      "tree?recursive=true&per_page=100&page=500": "whole",
      "tree?recursive=true&per_page=100&pagination=keyset": "whole",
    },
  },
  "a huge name": {
    make: (directory) => hostile.namesOf(directory, { names: 1, bytes: 30_000_000 }),
    reads: {
      tree: "refused",
      "tree?recursive=true": "refused",
      "commits/main/diff": "truncated",
      "commits/main": "whole",
      "compare?from=main&to=main": "whole",
    },
  },
  "long names of files": {
    make: hostile.longFileNames,
    reads: {
      "tree?per_page=100": "truncated",
      "tree?recursive=true&per_page=100": "truncated",
      "tree?recursive=true&per_page=100&pagination=keyset": "truncated",
      "commits/main/diff?per_page=100": "truncated",
      "commits?with_stats=true": "whole",
    },
  },
  "a huge diff": {
    make: (directory) => hostile.hugeDiff(directory),
    reads: { "commits/main/diff": "whole", "commits/main": "whole", "compare?from=ROOT&to=main": "whole" },
  },
  "a heavy blame": {
    make: (directory) => hostile.heavyBlame(directory),
    reads: {
      "files/turns.txt/blame?ref=main": "truncated",
      "files/deep.txt/blame?ref=main": "truncated",
      "files/deep.txt/blame?ref=main&range[start]=1&range[end]=2": "truncated",
    },
  },
  "many refs": {
    make: (directory) => hostile.manyRefs(directory, { tags: 120 }),
    reads: {
      "tags?per_page=100": "truncated",
      "tags?per_page=100&order_by=name": "truncated",
      "tags/v1": "whole",
      "branches?per_page=100": "whole",
      "branches?per_page=100&sort=updated_desc": "whole",
      "branches?search=9&per_page=100": "whole",
      "commits/main/refs?per_page=100": "whole",
    },
  },
};

export type ExpensiveRepositories = Awaited<ReturnType<typeof expensiveRepositories>>;

/** An application that listens, with public repositories that are expensive to read. */
export async function expensiveRepositories() {
  const app = await testApp();
  const port = await listen(app);

  /** Creates a public repository and returns its path in the API. */
  async function publicProject(make: Case["make"]): Promise<string> {
    const { token, username } = await app.makeUser();
    const payload = { name: `code ${username}`, visibility: "public", default_branch: "main" };
    const { body } = await app.post("/projects", { token, payload });
    const name = projectRepository(body.id);
    await app.services.git.storage("default").repository(name).create("main");
    await make(join(app.services.config.dataDir, "repositories", `${name}.git`));
    return `http://127.0.0.1:${port}/api/v4/projects/${body.id}/repository`;
  }

  const roots = new Map<string, string>();
  /** The id of the first commit. */
  async function rootOf(address: string): Promise<string> {
    if (!address.includes("ROOT")) return "";
    const project = /projects\/(\d+)/.exec(address)?.[1] ?? "";
    const known = roots.get(project);
    if (known !== undefined) return known;
    const repository = app.services.git.storage("default").repository(projectRepository(Number(project)));
    const running = await repository.run({ command: "rev-list", options: ["--max-parents=0"], values: ["main"] });
    let root = "";
    for await (const chunk of running.output) root += String(chunk);
    roots.set(project, root.trim());
    return root.trim();
  }

  return {
    publicProject,
    async read(address: string) {
      const response = await fetch(address.replace("ROOT", await rootOf(address)));
      return { status: response.status, headers: response.headers, bytes: (await response.arrayBuffer()).byteLength };
    },
    close: () => app.close(),
  };
}
