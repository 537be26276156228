import { forbidden } from "#lib/refusal.ts";
import type { Access } from "./access.ts";
import type { Actor } from "./principal.ts";
import { hasRole, inProject, mayUse, type ProjectSeen } from "./containers.ts";
import type { Scope } from "./scopes.ts";

/** What a caller wants to do with the repository of a project. */
export type CodeNeed = "read" | "push";

/** Why a caller who sees a project may not use its repository, or undefined. */
export function codeProblem(need: CodeNeed, actor: Actor | null, project: ProjectSeen): string | undefined {
  if (project.repository_access_level === "disabled") return "The repository of this project is switched off";
  if (need === "push") {
    if (!hasRole(actor, project, "developer")) return "You are not allowed to push code to this project";
    return project.archived ? "The project is archived" : undefined;
  }
  return mayUse(actor, project, "repository") ? undefined : "You are not allowed to download code from this project";
}

const RULES: Readonly<Record<CodeNeed, string>> = {
  read: "anyone who may see the project and read its code",
  push: "at least Developer of the project, unless it is archived",
};

/** The rule for the code of one project, named by `:id` in the path as a number or a full path. */
export function inRepository(
  need: "read",
  options?: { readonly scopes?: readonly Scope[] },
): Access<{ readonly actor: Actor | null; readonly project: ProjectSeen }>;
export function inRepository(
  need: "push",
  options?: { readonly scopes?: readonly Scope[] },
): Access<{ readonly actor: Actor; readonly project: ProjectSeen }>;
export function inRepository(need: CodeNeed, options: { readonly scopes?: readonly Scope[] } = {}) {
  const rule = inProject("viewer", { ...options, signedIn: need === "push" });
  return {
    ...rule,
    rule: RULES[need],
    async check(caller: Parameters<typeof rule.check>[0]) {
      const granted = await rule.check(caller);
      const problem = codeProblem(need, granted.actor, granted.project);
      if (problem !== undefined) throw forbidden(problem);
      return granted;
    },
  };
}
