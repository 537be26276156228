import type { Actor } from "#access/actor.ts";
import type { ProjectSeen } from "#access/containers.ts";
import type { Signature } from "#git/objects/commits.ts";
import type { RefChange } from "#git/push-commands.ts";
import { ZERO_ID } from "#git/refs.ts";
import type { Repository } from "#git/storages/storage.ts";
import { signedAt } from "#git/writing/people.ts";
import type { AuditTarget } from "#http/endpoint.ts";
import { isBranchName } from "#lib/branch-names.ts";
import type { Consumer } from "#lib/consumer.ts";
import { invalid, Refusal } from "#lib/refusal.ts";
import { commitEmail } from "#resources/users/present.ts";
import type { Services } from "#services.ts";
import { changeRefs } from "./change-refs.ts";
import { callerOf } from "./caller.ts";
import { openProject, type PushAccess } from "./opening.ts";

/** What an endpoint hands on to what writes to a repository. */
export interface CodeWriting {
  readonly services: Services;
  readonly actor: Actor;
  readonly project: ProjectSeen;
  readonly site: string;
  readonly consumer: Consumer;
  reauthenticate(): Promise<Actor | null>;
  audit(target: AuditTarget): void;
}

export async function openToWrite({
  services,
  actor,
  project,
  consumer,
  reauthenticate,
}: Omit<CodeWriting, "audit" | "site">): Promise<PushAccess> {
  const opened = await openProject(services, callerOf(actor), project, "push", consumer);
  return { ...opened, reauthenticate: async () => callerOf(await reauthenticate()) };
}

/** A ref is a file, whose name may have eleven bytes more. */
const MOST_NAME = 244;

/** Whether a branch or tag may have a name: one like an id or a full name would be taken for something else. */
export const isShortName = (name: string) =>
  isBranchName(name) && Buffer.byteLength(name) <= MOST_NAME && !/^(?:[0-9a-f]{40}$|refs\/)/i.test(name);

/** Where a ref points, told by its full name; a tag may point to an object of its own. */
export const targetOfRef = async ({ objects }: Repository, ref: string): Promise<string | undefined> =>
  (await objects.info(ref))?.id;

/** Who commits, as their account says, and that it is now. */
export async function committerOf({ services, actor, site }: Omit<CodeWriting, "audit">): Promise<Signature> {
  const user = await services.db.write
    .selectFrom("users")
    .select(["id", "username", "name", "email", "commit_email"])
    .where("id", "=", actor.user.id)
    .executeTakeFirstOrThrow();
  return signedAt({ name: user.name, email: commitEmail(user, site) }, services.now());
}

/** Moves one ref, and writes down in the audit log of the project what was done. */
export async function changeRef(
  { services, project, audit }: CodeWriting,
  opened: PushAccess,
  change: RefChange,
  details: Readonly<Record<string, string>>,
) {
  await changeRefs(services, opened, [change]);
  audit({ ...targetOf(project), details });
}

/** The project, as the audit log names what was done to its code. */
export const targetOf = ({ id, name }: ProjectSeen) =>
  ({ type: "Project", id, name, entity: { type: "Project", id } }) as const;

/** Makes a ref that must not be there yet. */
export async function createRef(
  writing: CodeWriting,
  opened: PushAccess,
  { ref, id, details }: { ref: string; id: string; details: Readonly<Record<string, string>> },
  taken: string,
) {
  const refuseTaken = async () => {
    if ((await targetOfRef(opened.repository, ref)) !== undefined) throw invalid(taken);
  };
  await refuseTaken();
  try {
    await changeRef(writing, opened, { ref, oldId: ZERO_ID, newId: id }, details);
  } catch (error) {
    if (error instanceof Refusal && error.kind === "conflict") await refuseTaken();
    throw error;
  }
}

/** Removes a ref, or tells that it is not there. */
export async function deleteRef(
  writing: CodeWriting,
  kind: "heads" | "tags",
  name: string,
  details: Readonly<Record<string, string>>,
): Promise<boolean> {
  const opened = await openToWrite(writing);
  const ref = `refs/${kind}/${name}`;
  const id = isBranchName(name) ? await targetOfRef(opened.repository, ref) : undefined;
  if (id === undefined) return false;
  await changeRef(writing, opened, { ref, oldId: id, newId: ZERO_ID }, details);
  return true;
}
