import { type RawBuilder, sql } from "kysely";
import { type GroupSeen, hasRole, type ProjectSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import { needsRole } from "#access/roles.ts";
import type { ItemSeen } from "#domains/conversation/items/resource.ts";

/** Members see internal notes, and confidential items, from this role on. */
export const SEES_CONFIDENTIAL = "planner";

/** Whether the row of `notes as note` on an item that an actor sees is for them: internal ones are as confidential items. */
export function noteVisibleIn({
  kind,
  container,
  actor,
}: Pick<ItemSeen, "kind" | "container" | "actor">): RawBuilder<boolean> {
  const seesInternal = maySeeInternal(container, actor);
  const seesNamed = kind.isNamedVisible?.(actor) ?? sql`note.other_issue_id is null and note.other_epic_id is null`;
  return sql`(${seesInternal ? sql`true` : sql`not note.internal`} and ${seesNamed})`;
}

/** Whether an actor sees the internal notes on the items of a container. */
export const maySeeInternal = (container: ProjectSeen | GroupSeen, actor: Actor | null): boolean =>
  hasRole(actor, container, SEES_CONFIDENTIAL);

/** Refuses those who may not write what only members from a role on see. */
export function requireSeesInternal(container: ProjectSeen | GroupSeen, actor: Actor, place: "project" | "group") {
  if (!maySeeInternal(container, actor)) throw needsRole(SEES_CONFIDENTIAL, place);
}
