import type { SeedStatement, SeedStep } from "#db/seed.ts";
import { forProjects, type SeedSize } from "#domains/foundation/seed.ts";
import { PEOPLE, seedTokens } from "#domains/identity/seed.ts";
import {
  DEPTHS,
  DOMAIN,
  FIRST_MEMBERS,
  GROUPS,
  MEMBERS,
  OWNERS,
  PROJECTS,
  SERVICE_ACCOUNTS,
  SHARES,
  STARS,
  SUBGROUPS,
  TOP_GROUPS,
} from "./seed-statements.ts";

const CHUNK = 100_000;

const groupsIn = (projects: number) => Math.max(Math.floor(projects / 10), 20);

/** One group per ten projects, one in a hundred below the largest; all seeded people are its enterprise users. */
const groups: SeedStep<SeedSize> = {
  name: "groups",
  tables: ["namespaces", "routes"],
  statements({ projects }) {
    if (projects === 0) return [];
    const counts = DEPTHS.map((hundredths) => Math.max(Math.floor((groupsIn(projects) * hundredths) / 100), 1));
    const made = counts.map((count, depth): SeedStatement => {
      const before = counts.slice(0, depth).reduce((sum, each) => sum + each, 0);
      const range = [before + 1, before + count];
      return depth === 0
        ? { text: TOP_GROUPS, values: range }
        : { text: SUBGROUPS, values: [...range, depth, counts[depth - 1]] };
    });
    return [...withoutTriggers("namespaces", [...made, { text: GROUP_ROUTES }]), { text: DOMAIN }];
  },
};

/** One project in twenty is in the largest group; stars come with it, because projects store their count. */
const projects: SeedStep<SeedSize> = {
  name: "projects",
  tables: ["projects", "repositories", "routes", "stars"],
  statements: forProjects(({ projects, trial }) => [
    { text: PEOPLE },
    { text: GROUPS },
    ...withoutTriggers("projects", [
      { text: PROJECTS, chunks: { count: projects, size: CHUNK } },
      ...(trial ? [{ text: EXISTING_STORAGES, values: [trial.storages] }] : []),
      { text: REPOSITORIES },
      { text: PROJECT_ROUTES },
      { text: STARS, values: [Math.floor(projects / 4)] },
    ]),
  ]),
};

/**
 * The first user is a member of one project in four hundred, the second only of the largest group, and all others of
 * pseudo-random groups and projects.
 */
const members: SeedStep<SeedSize> = {
  name: "members",
  tables: ["members", "shares"],
  statements: forProjects(({ projects }) => [
    { text: PEOPLE },
    { text: GROUPS },
    { text: OWNERS },
    { text: FIRST_MEMBERS, values: [Math.max(Math.floor(projects / 400), 1)] },
    { text: MEMBERS, chunks: { count: Math.floor(projects * 2.5), size: CHUNK } },
    { text: SHARES, values: [Math.floor(groupsIn(projects) / 10)] },
  ]),
};

const serviceAccounts: SeedStep<SeedSize> = {
  name: "service accounts of groups",
  tables: ["users", "namespaces"],
  statements: forProjects(() => [{ text: SERVICE_ACCOUNTS }]),
};

/** Tokens are identity's, but the accounts of groups have the most, so their step follows that of the accounts. */
export const organizationSeeds = [groups, projects, members, serviceAccounts, seedTokens];

/** Disables the triggers that maintain routes row by row, since one statement for all is many times faster. */
const withoutTriggers = (table: string, statements: readonly SeedStatement[]): SeedStatement[] => [
  { text: `alter table ${table} disable trigger user` },
  ...statements,
  { text: `alter table ${table} enable trigger user` },
];

/** One project in a thousand is on a storage of its own, by which lists are filtered; here it must exist. */
const EXISTING_STORAGES = `
  update projects set repository_storage = ($1::text[])[1] where repository_storage <> all($1::text[])`;

const REPOSITORIES = `
  insert into repositories (project_id, storage, disk_path)
  select id, repository_storage, project_repository_path(id) from projects on conflict do nothing`;

const GROUP_ROUTES = `
  insert into routes (parent_id, path, namespace_id)
  select coalesce(parent_id, 0), lower(path), id from namespaces where kind = 'group' on conflict do nothing`;

const PROJECT_ROUTES = `
  insert into routes (parent_id, path, project_id)
  select namespace_id, lower(path), id from projects on conflict do nothing`;
