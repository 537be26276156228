import type { Actor, Reauthenticate } from "#access/principal.ts";
import type { ProjectSeen } from "#access/containers.ts";
import type { Db } from "#db/database.ts";
import type { Signature } from "#git/objects/commits.ts";
import type { RefChange } from "#git/push-commands.ts";
import { ZERO_ID } from "#git/refs.ts";
import type { Repository } from "#git/storages/storage.ts";
import { signedAt } from "#git/writing/signatures.ts";
import type { AuditEntry } from "#http/audit.ts";
import type { AuditTarget } from "#http/endpoint.ts";
import { isBranchName } from "#lib/branch-names.ts";
import type { Consumer } from "#lib/consumer.ts";
import { invalid, Refusal } from "#lib/refusal.ts";
import { commitEmail } from "#domains/identity/users/present.ts";
import type { Services } from "#services.ts";
import { changeRefs } from "#domains/storage/pushes/change-refs.ts";
import type { Owned, PushAccess } from "#domains/storage/pushes/access.ts";
import { authorize } from "./authorize.ts";
import { ofProject } from "./project.ts";
import { reauthorized } from "./reauthorize.ts";

/** What a write to a repository needs from its request. */
export interface RepositoryWriteRequest {
  readonly services: Services;
  readonly actor: Actor;
  readonly consumer: Consumer;
  readonly reauthenticate: Reauthenticate;
  auditEntry(target: AuditTarget): AuditEntry;
}

/** The same for the repository of a project. */
export interface CodeWriteRequest extends RepositoryWriteRequest {
  readonly project: ProjectSeen;
}

export const authorizeWrite = ({ project, ...writing }: Omit<CodeWriteRequest, "auditEntry">): Promise<PushAccess> =>
  authorizeWriteTo(ofProject(project), writing);

export async function authorizeWriteTo(
  owned: Owned,
  { services, actor, consumer, reauthenticate }: Omit<RepositoryWriteRequest, "auditEntry">,
): Promise<PushAccess> {
  const access = await authorize(services, actor, owned, "push", consumer);
  return reauthorized(services, access, reauthenticate);
}

/** A ref is a file; `refs/heads/` adds eleven bytes to its name. */
const MAX_NAME_BYTES = 244;

/** Whether a branch or tag may have this name; one like an object id or a full ref would be ambiguous. */
export const isShortName = (name: string) =>
  isBranchName(name) && Buffer.byteLength(name) <= MAX_NAME_BYTES && !/^(?:[0-9a-f]{40}$|refs\/)/i.test(name);

/** The object that a full ref points to; for an annotated tag its tag object. */
export const targetOfRef = async ({ objects }: Repository, ref: string): Promise<string | undefined> =>
  (await objects.info(ref))?.id;

/** The committer signature of the caller, dated now. */
export async function committerOf(
  { services, actor }: Pick<RepositoryWriteRequest, "services" | "actor">,
  db: Db = services.db.write,
): Promise<Signature> {
  const user = await db
    .selectFrom("users")
    .select(["id", "username", "name", "email", "commit_email"])
    .where("id", "=", actor.user.id)
    .executeTakeFirstOrThrow();
  return signedAt({ name: user.name, email: commitEmail(user, services.config.externalUrl) }, services.now());
}

/** Changes one ref and audits it. */
export async function changeRef(
  { services, auditEntry }: RepositoryWriteRequest,
  access: PushAccess,
  change: RefChange,
  details: Readonly<Record<string, string>>,
) {
  await changeRefs(services, access, [change], auditEntry({ ...access.kind.auditTarget(access.owner), details }));
}

/** Creates a ref; refused with `taken` if it exists. */
export async function createRef(
  writing: RepositoryWriteRequest,
  access: PushAccess,
  { ref, id, details }: { ref: string; id: string; details: Readonly<Record<string, string>> },
  taken: string,
) {
  const refuseTaken = async () => {
    if ((await targetOfRef(access.repository, ref)) !== undefined) throw invalid(taken);
  };
  await refuseTaken();
  try {
    await changeRef(writing, access, { ref, oldId: ZERO_ID, newId: id }, details);
  } catch (error) {
    if (error instanceof Refusal && error.kind === "conflict") await refuseTaken();
    throw error;
  }
}

/** Deletes a ref; returns false if it does not exist. */
export async function deleteRef(
  writing: CodeWriteRequest,
  kind: "heads" | "tags",
  name: string,
  details: Readonly<Record<string, string>>,
): Promise<boolean> {
  const access = await authorizeWrite(writing);
  const ref = `refs/${kind}/${name}`;
  const id = isBranchName(name) ? await targetOfRef(access.repository, ref) : undefined;
  if (id === undefined) return false;
  await changeRef(writing, access, { ref, oldId: id, newId: ZERO_ID }, details);
  return true;
}
