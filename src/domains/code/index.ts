import type { Resources } from "#http/app.ts";
import type { Domain } from "#domains/foundation/domain.ts";
import { moveEndpoints } from "#domains/storage/moves/endpoints.ts";
import { archives } from "./archives/routes.ts";
import { branches } from "./branches/routes.ts";
import { commits } from "./commits/routes.ts";
import { comparisons } from "./comparisons/routes.ts";
import { codeConstraints } from "./constraints.ts";
import { codeDeletions } from "./deletions.ts";
import { allDeployKeys, deployKeysOfProjects } from "./deploy-keys/routes.ts";
import { repositoryFiles } from "./files/routes.ts";
import { codeJobs } from "./jobs.ts";
import { seedDeployKeys, seedSnippets } from "./seed.ts";
import { personalSnippets, projectSnippets } from "./snippets/routes.ts";
import { SNIPPET_MOVES } from "./snippets/storage-moves.ts";
import { tags } from "./tags/routes.ts";
import { repositories } from "./transport/routes.ts";
import { trees } from "./trees/routes.ts";
import { groupWikis, projectWikis } from "./wikis/routes.ts";
import { GROUP_MOVES } from "./wikis/storage-moves.ts";

const resources: Resources = {
  repositories,
  allDeployKeys,
  deployKeysOfProjects,
  trees,
  repositoryFiles,
  branches,
  tags,
  commits,
  comparisons,
  archives,
  personalSnippets,
  projectSnippets,
  snippetStorageMoves: moveEndpoints(SNIPPET_MOVES),
  projectWikis,
  groupWikis,
  groupStorageMoves: moveEndpoints(GROUP_MOVES),
};

export const code: Domain = {
  resources,
  jobs: codeJobs,
  constraints: codeConstraints,
  deletions: codeDeletions,
  seeds: [seedDeployKeys, seedSnippets],
};
