import { type Access, requireActor } from "#access/access.ts";
import type { Actor } from "#access/actor.ts";
import { requireScope } from "#access/authenticate.ts";
import type { CodeNeed } from "#access/code.ts";
import type { ProjectSeen } from "#access/containers.ts";
import type { Scope } from "#access/scopes.ts";
import { Refusal, unauthenticated } from "#lib/refusal.ts";
import { callerOf, type GitCaller } from "./caller.ts";
import { projectAt, refuseCode } from "./opening.ts";

const RULES: Readonly<Record<CodeNeed, string>> = {
  read: "anyone who may see the project and read its code; to push, at least Developer",
  push: "at least Developer of the project, unless it is archived",
};
const SCOPES: Readonly<Record<CodeNeed, readonly Scope[]>> = {
  read: ["read_repository", "write_repository"],
  push: ["write_repository"],
};

interface Seen {
  readonly actor: Actor | null;
  readonly caller: GitCaller;
  readonly project: ProjectSeen;
}

/** The rule for git over HTTP, where `*project` is the full path of a project, of now or of before. */
export const overHttp = (need: CodeNeed): Access<Seen> => ({
  rule: RULES[need],
  signedIn: need === "push",
  scopes: SCOPES[need],
  forGit: true,
  async check({ db, actor, path }) {
    const caller = callerOf(actor);
    try {
      const project = await projectAt(db, caller, path["project"] ?? "");
      await refuseCode(db, caller, project, need);
      return { actor, caller, project };
    } catch (error) {
      // Git sends no token until it is asked for one, and whoever has none must not learn what there is.
      if (!actor && error instanceof Refusal) throw unauthenticated();
      throw error;
    }
  },
});

/** What a push asks first is the read of the refs: what that is for stands in the query, which no rule sees. */
export function requirePush(actor: Actor | null) {
  const { user: _, ...by } = requireActor(actor);
  if (by.kind === "user by token") requireScope(by.token.scopes, overHttp("push"), false);
}
