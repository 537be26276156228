import { actorOf, isUserOrAnonymous, type Principal } from "#access/principal.ts";
import type { Databases } from "#db/database.ts";
import type { AuditTarget } from "#http/endpoint.ts";
import { forbidden, unauthenticated } from "#lib/refusal.ts";
import type { Owned, OwnerKind } from "#domains/storage/pushes/access.ts";
import { onlyBranchProblem } from "#domains/storage/pushes/rules.ts";
import { storageLeftOf } from "#domains/storage/repositories/quota.ts";
import { readOnly } from "#domains/storage/repositories/read-only.ts";
import { changeProblem, type SnippetSeen, visibleSnippet } from "./access.ts";

/** What the repository of a snippet may grow to. */
const MAX_BYTES = 50 * 2 ** 20;

/** The snippet as the audit target of a write to it: in the log of its project, or else of its author. */
export const snippetTarget = ({
  id,
  title,
  project_id,
  author_id,
}: Pick<SnippetSeen, "id" | "title" | "project_id" | "author_id">): AuditTarget => ({
  type: "Snippet",
  id,
  name: title,
  ...(project_id !== null
    ? { entity: { type: "Project", id: project_id } }
    : author_id !== null && { entity: { type: "User", id: author_id } }),
});

/** Snippets, as what repositories belong to. */
const SNIPPET: OwnerKind<SnippetSeen> = {
  type: "Snippet",
  logged: "snippet_id",
  find: snippetSeenBy,
  async refuse(_db, principal, snippet, need) {
    if (need === "read") return;
    const actor = actorOf(principal);
    if (!actor) throw unauthenticated();
    const problem = changeProblem(actor, snippet);
    if (problem !== undefined) throw forbidden(problem);
    if (snippet.read_only && need === "push") throw readOnly();
  },
  async maxInputBytes(services, { author_id, size_bytes }) {
    const left = author_id === null ? undefined : await storageLeftOf(services, author_id);
    if (size_bytes >= MAX_BYTES) throw forbidden(`A snippet may have at most ${MAX_BYTES / 2 ** 20} MiB`);
    return Math.min(MAX_BYTES - size_bytes, left ?? MAX_BYTES);
  },
  mayRewrite: () => true,
  problemOf: onlyBranchProblem("snippet"),
  auditTarget: snippetTarget,
};

export const ofSnippet = (snippet: SnippetSeen): Owned => ({ kind: SNIPPET, owner: snippet });

/** Finds a snippet by id if the principal may see it at this moment; keys never do. */
export async function snippetSeenBy(db: Databases, principal: Principal, id: number): Promise<SnippetSeen | undefined> {
  if (!isUserOrAnonymous(principal)) return undefined;
  return visibleSnippet(db, actorOf(principal), id);
}
