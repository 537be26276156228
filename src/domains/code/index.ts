import type { Resources } from "#http/app.ts";
import { archives } from "./archives/routes.ts";
import { branches } from "./branches/routes.ts";
import { commits } from "./commits/routes.ts";
import { comparisons } from "./comparisons/routes.ts";
import { allDeployKeys, deployKeysOfProjects } from "./deploy-keys/routes.ts";
import { repositoryFiles } from "./files/routes.ts";
import { repositories } from "./repository/routes.ts";
import { tags } from "./tags/routes.ts";
import { trees } from "./trees/routes.ts";

export const code: Resources = {
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
};
