import { codeDeletions } from "./code/deletions.ts";
import { foundationDeletions } from "./foundation/deletions.ts";
import { mergeDeletions } from "./foundation/deletions/deletions.ts";
import { identityDeletions } from "./identity/deletions.ts";
import { organizationDeletions } from "./organization/deletions.ts";
import { platformDeletions } from "./platform/deletions.ts";
import { storageDeletions } from "./storage/deletions.ts";

/** What every domain does when a user, group or project is deleted, from the top down: rows go before what they name. */
export const deletions = mergeDeletions([
  platformDeletions,
  codeDeletions,
  organizationDeletions,
  storageDeletions,
  identityDeletions,
  foundationDeletions,
]);
