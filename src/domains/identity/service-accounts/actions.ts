import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import { type Actor, isAdministrator } from "#access/principal.ts";
import type { Tx } from "#db/database.ts";
import { noreplyDomain, isNoreply } from "#lib/noreply.ts";
import { type Problems, refuse, throwProblems } from "#lib/problems.ts";
import { badRequest, forbidden, Refusal } from "#lib/refusal.ts";
import { mailTo } from "#domains/foundation/mails/send.ts";
import { createUser, findTaken, refuseSecondaryAddress, updateUser } from "#domains/identity/users/actions.ts";
import { lockAddress } from "#domains/identity/users/emails.ts";
import { checkEmail } from "#domains/identity/users/validate.ts";
import type { Services } from "#services.ts";
import { accountsOf, type NamedAccount } from "./queries.ts";

export interface AccountFields {
  readonly name?: string | undefined;
  readonly username?: string | undefined;
  readonly email?: string | undefined;
}

/** The group that a service account belongs to. */
export interface OwningGroup {
  readonly id: number;
  /** Whether an address is trusted, because the group has verified its domain. */
  owns(email: string): Promise<boolean>;
}

export interface AccountWriteContext {
  readonly tx: Tx;
  readonly actor: Actor;
  readonly services: Services;
}

const now = sql<string>`now()`;
const nonBlank = (text: string | undefined) => text?.trim() || undefined;

/** Creates a service account, of a group or of the instance; it is a member of nothing and has no password. */
export async function createAccount(context: AccountWriteContext, fields: AccountFields, group?: OwningGroup) {
  const { tx, actor, services } = context;
  const settings = await services.settings.current();
  const generated = `service_account_${group ? `group_${group.id}_` : ""}${randomBytes(16).toString("hex")}`;
  const username = nonBlank(fields.username) ?? generated;
  const chosenEmail = nonBlank(fields.email)?.toLowerCase();
  const email = chosenEmail ?? `${generated}@${noreplyDomain(services.config.externalUrl)}`;
  await lockAddress(tx, email);
  refuseTaken(await findTaken(tx, { email, username }), badRequest);
  if (chosenEmail !== undefined) await checkAddress(tx, chosenEmail, services);

  const confirmed = chosenEmail === undefined || (await isTrusted(context, chosenEmail, group));
  const params = {
    ...(await creatorLimits(tx, actor)),
    name: nonBlank(fields.name) ?? "Service account user",
    ...{ username, email, force_random_password: true, skip_confirmation: confirmed, private_profile: false },
  };
  const id = await createUser(tx, params, {
    // Only `skip_confirmation` decides whether the address is confirmed; the setting is for users whom administrators create.
    settings: { ...settings, email_confirmation: "hard" },
    ...{ blobs: services.blobs, passwordDigest: undefined, actorId: actor.user.id },
  });
  await tx
    .updateTable("users")
    .set({ user_type: "service_account", provisioned_by_group_id: group?.id ?? null })
    .where("id", "=", id)
    .execute();
  if (!confirmed) await mailTo(services.jobs, tx, { kind: "confirm_email", userId: id, email });
  return accountsOf(tx).where("u.id", "=", id).executeTakeFirstOrThrow();
}

/** Changes a service account; a new email address takes effect once it is confirmed. */
export async function updateAccount(
  context: AccountWriteContext,
  account: NamedAccount,
  fields: AccountFields,
  group?: OwningGroup,
) {
  const { tx, actor, services } = context;
  const name = nonBlank(fields.name);
  const username = nonBlank(fields.username);
  const email = nonBlank(fields.email)?.toLowerCase() ?? account.email;
  if (email !== account.email) await lockAddress(tx, email);
  const taken = await findTaken(tx, { email, username: username ?? account.username }, account);
  refuseTaken(taken, (reason) => new Refusal("invalid", reason));
  const changed: string[] = [];
  if (name !== undefined || username !== undefined) {
    const settings = await services.settings.current();
    const params = { id: account.id, ...(name !== undefined && { name }), ...(username !== undefined && { username }) };
    changed.push(
      ...(await updateUser(tx, params, {
        ...{ settings, blobs: services.blobs, passwordDigest: undefined, actorId: actor.user.id },
      })),
    );
  }
  if (email !== account.email) changed.push(await changeEmail(context, account.id, email, group));
  return { changed, row: await accountsOf(tx).where("u.id", "=", account.id).executeTakeFirstOrThrow() };
}

async function changeEmail(context: AccountWriteContext, id: number, email: string, group: OwningGroup | undefined) {
  const { tx, services } = context;
  await checkAddress(tx, email, services);
  const trusted = await isTrusted(context, email, group);
  await tx
    .updateTable("users")
    .set(trusted ? { email, confirmed_at: now, unconfirmed_email: null } : { unconfirmed_email: email })
    .set({ updated_at: now })
    .where("id", "=", id)
    .execute();
  if (!trusted) await mailTo(services.jobs, tx, { kind: "confirm_email", userId: id, email });
  return trusted ? "email" : "unconfirmed_email";
}

/** A service account gets the limits of the user who creates it. */
async function creatorLimits(tx: Tx, { user }: Actor) {
  if (user.admin) return {};
  const creator = await tx
    .selectFrom("users")
    .select(["external", "can_create_group", "projects_limit"])
    .where("id", "=", user.id)
    .executeTakeFirst();
  if (!creator) throw forbidden();
  return creator;
}

function refuseTaken(taken: { email: boolean; username: boolean }, refusal: (reason: string) => Refusal) {
  const reasons = [
    ...(taken.username ? ["Username has already been taken"] : []),
    ...(taken.email ? ["Email has already been taken"] : []),
  ];
  if (reasons.length > 0) throw refusal(reasons.join(" and "));
}

async function checkAddress(tx: Tx, email: string, { config }: Services) {
  const problems: Problems = {};
  checkEmail(problems, "email", email);
  if (isNoreply(email, config.externalUrl)) refuse(problems, "email", "is in a domain that is not given out");
  await refuseSecondaryAddress(tx, problems, email);
  throwProblems(problems);
}

/**
 * Whether an address needs no confirmation: an administrator sets it and the instance requires none, or the group has
 * verified its domain. Otherwise an Owner could claim the address of any person.
 */
async function isTrusted({ actor, services }: AccountWriteContext, email: string, group: OwningGroup | undefined) {
  const { email_confirmation } = await services.settings.current();
  if (email_confirmation === "off" && isAdministrator(actor)) return true;
  return (await group?.owns(email)) ?? false;
}
