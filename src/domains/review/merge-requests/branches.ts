import type { ProjectSeen } from "#access/containers.ts";
import { resolveCommit } from "#git/objects/names.ts";
import { isRefName } from "#git/refs.ts";
import type { Consumer } from "#lib/consumer.ts";
import { badFields } from "#lib/refusal.ts";
import { repositoryOf } from "#domains/storage/repositories/location.ts";
import type { Services } from "#services.ts";

interface BranchRequest {
  readonly services: Services;
  readonly project: ProjectSeen;
  readonly consumer: Consumer;
}

/** The commits that some branches are at, by the names of the parameters that name them; a missing one is refused. */
export async function headsOf<Name extends "source_branch" | "target_branch">(
  { services, project, consumer }: BranchRequest,
  branches: Readonly<Record<Name, string>>,
): Promise<Readonly<Record<Name, string>>> {
  const named = Object.entries(branches) as [Name, string][];
  const repository = await repositoryOf(services, project, consumer);
  const heads = await Promise.all(
    named.map(async ([name, branch]) => {
      const ref = `refs/heads/${branch}`;
      return [name, isRefName(ref) ? await resolveCommit(repository, ref) : undefined] as const;
    }),
  );
  const missing = heads.filter(([, id]) => id === undefined).map(([name]) => [name, ["does not exist"]] as const);
  if (missing.length > 0) throw badFields(Object.fromEntries(missing));
  return Object.fromEntries(heads) as Record<Name, string>;
}
