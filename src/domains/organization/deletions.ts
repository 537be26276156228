import { reassignOfUser, removeOfContainers, removeOfUser } from "#domains/foundation/deletions/batches.ts";
import type { Deletions } from "#domains/foundation/deletions/deletions.ts";
import { removeSoleGroups } from "./groups/group-deletion.ts";
import { removeBatchOfProjects } from "./projects/project-deletion.ts";
import { removeStarsOf } from "./stars/actions.ts";

export const organizationDeletions: Deletions = {
  columns: {
    "projects.namespace_id": "removed first",
    "projects.creator_id": "moved to the ghost user",
    "namespaces.creator_id": "moved to the ghost user",
    "members.user_id": "removed first",
    "members.group_id": "removed first",
    "members.project_id": "removed first",
    "members.created_by_id": "kept",
    "shares.group_id": "cascade",
    "shares.project_id": "cascade",
    "shares.with_group_id": "removed first",
    "stars.user_id": "removed first",
    "stars.project_id": "removed first",
    "users.provisioned_by_group_id": "set null",
    "identities.saml_provider_id": "kept",
    "verified_domains.group_id": "cascade",
  },
  ofUser: [
    // Memberships determine which groups nobody else owns, so the groups come before the memberships.
    removeSoleGroups,
    (tx, { namespace_id }, context) => removeBatchOfProjects(tx, namespace_id, context),
    (tx, { id }) => removeStarsOf(tx, id),
    removeOfUser("members", "user_id"),
    reassignOfUser("projects", "creator_id"),
    reassignOfUser("namespaces", "creator_id"),
  ],
  ofGroups: [removeOfContainers("members", "group_id"), removeOfContainers("shares", "with_group_id")],
  ofProjects: [removeOfContainers("stars", "project_id"), removeOfContainers("members", "project_id")],
};
