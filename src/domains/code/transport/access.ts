import { type Access, defineRule, requireAdmitted, USERS, USERS_AND_ANONYMOUS } from "#access/access.ts";
import type { Principal } from "#access/principal.ts";
import { requireScope } from "#access/authenticate.ts";
import type { CodeNeed } from "#access/code.ts";
import type { Scope } from "#access/scopes.ts";
import { Refusal, unauthenticated } from "#lib/refusal.ts";
import type { Owned } from "#domains/storage/pushes/access.ts";
import { ownerAt } from "./owners.ts";

const RULES: Readonly<Record<CodeNeed, string>> = {
  read: "anyone who may read the code of the project, the wiki or the snippet; to push, whoever may change it",
  push: "at least Developer of the project or wiki, or who may change the snippet, unless it is archived",
};
const SCOPES: Readonly<Record<CodeNeed, readonly Scope[]>> = {
  read: ["read_repository", "write_repository"],
  push: ["write_repository"],
};

interface Granted {
  readonly principal: Principal;
  readonly owned: Owned;
}

/** The rule for git over HTTP, where `*project` is the path of a repository without `.git`. */
export const overHttp = (need: CodeNeed): Access<Granted> =>
  defineRule({
    rule: RULES[need],
    admits: need === "push" ? USERS : USERS_AND_ANONYMOUS,
    scopes: SCOPES[need],
    forGit: true,
    async check({ db, principal, path }) {
      try {
        const owned = await ownerAt(db, principal, path["project"] ?? "");
        await owned.kind.refuse(db, principal, owned.owner, need === "push" ? "receive" : "read");
        return { principal, owned };
      } catch (error) {
        // Git sends no token until it gets a 401, and an anonymous caller must not learn which projects exist.
        if (principal.kind === "anonymous" && error instanceof Refusal) throw unauthenticated();
        throw error;
      }
    },
  });

/** A push begins by reading the refs; only the query says that it is one, and access rules do not see the query. */
export function requirePush(principal: Principal) {
  const rule = overHttp("push");
  requireAdmitted(rule, principal);
  if (principal.kind === "user by token") requireScope(principal.token.scopes, rule, false);
}
