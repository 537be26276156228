import type { Contract } from "#test/contract.ts";
import { CLOSED, inProject } from "#test/matrix/line.ts";

const FETCH = "api read_repository write_repository";
const PUSH = "api write_repository";
const READ_OVER_GIT = { overGit: true, unaudited: true } as const;

export const contract: Contract = {
  lines: {
    "GET /*project.git/info/refs": [
      inProject("viewer", 200, FETCH, {
        ...{ ...READ_OVER_GIT, code: "read", send: "service=git-upload-pack" },
      }),
      inProject("viewer", 200, FETCH, {
        ...{ ...READ_OVER_GIT, code: "read", send: "service=git-receive-pack", answers: CLOSED },
        ...{ signedIn: true, requestRole: "developer", requestScopes: PUSH },
      }),
    ],
    "POST /*project.git/git-upload-pack": inProject("viewer", 200, FETCH, {
      ...{ ...READ_OVER_GIT, code: "read", body: "git-upload-pack" },
    }),
    "POST /*project.git/git-receive-pack": inProject("developer", 200, PUSH, {
      ...{ overGit: true, code: "push", body: "git-receive-pack", answers: CLOSED },
    }),
  },
  tables: ["repositories", "pushes", "events"],
  differing: ["size_bytes", "ref", "commit_from", "commit_to", "pushed_at", "disk_path"],
  unrepeatable: { "POST /*project.git/git-upload-pack": "a fetch writes nothing" },
};
