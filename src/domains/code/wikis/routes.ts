import { inGroup, inProject } from "#access/containers.ts";
import { wikiEndpoints } from "./endpoints.ts";

const feature = "wiki";

export const projectWikis = wikiEndpoints({
  word: "project",
  path: "/projects/:id/wikis",
  reader: inProject("viewer", { feature }),
  writer: inProject("developer", { feature, unlessArchived: true }),
  container: ({ project }) => ({ kind: "project", seen: project }),
});

export const groupWikis = wikiEndpoints({
  word: "group",
  path: "/groups/:id/wikis",
  plan: "premium",
  reader: inGroup("viewer"),
  writer: inGroup("developer", { unlessArchived: true }),
  container: ({ group }) => ({ kind: "group", seen: group }),
});
