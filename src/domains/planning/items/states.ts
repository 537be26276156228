import { sql } from "kysely";
import type { Actor } from "#access/principal.ts";

/** The columns that closing or reopening an item changes; none if it is in that state already. */
export function stateColumns(
  { state }: { readonly state: string },
  actor: Actor,
  event: "close" | "reopen" | undefined,
) {
  if (event === "close" && state === "opened") {
    return { state: "closed", closed_at: sql<string>`now()`, closed_by_id: actor.user.id } as const;
  }
  if (event === "reopen" && state === "closed")
    return { state: "opened", closed_at: null, closed_by_id: null } as const;
  return {};
}

/** What people are told of changed columns. */
export function statesReached({ state }: { readonly state?: "opened" | "closed" }): ("closed" | "reopened")[] {
  if (state === undefined) return [];
  return [state === "closed" ? "closed" : "reopened"];
}
