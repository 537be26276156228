import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import { type Actor, isAdministrator } from "#access/actor.ts";
import type { Tx } from "#db/database.ts";
import { noreplyDomain, isNoreply } from "#lib/noreply.ts";
import { type Problems, refuse, throwProblems } from "#lib/problems.ts";
import { badRequest, forbidden, missing, Refusal } from "#lib/refusal.ts";
import { mailTo } from "#resources/mails/send.ts";
import { holdPlace, refuseClosed } from "#resources/namespaces/placement.ts";
import { createUser, refusePendingAddress, updateUser, whatIsTaken } from "#resources/users/actions.ts";
import { holdAddress } from "#resources/users/emails.ts";
import { checkEmail } from "#resources/users/validate.ts";
import { provenDomainsOf } from "#resources/verified-domains/queries.ts";
import type { Services } from "#services.ts";
import { accountsOf, type NamedAccount } from "./queries.ts";

interface Asked {
  readonly name?: string | undefined;
  readonly username?: string | undefined;
  readonly email?: string | undefined;
}

interface Writing {
  readonly tx: Tx;
  readonly actor: Actor;
  readonly services: Services;
}

const now = sql<string>`now()`;
const given = (text: string | undefined) => text?.trim() || undefined;

/** Makes a service account, of a group or of the instance; it belongs nowhere and has no password. */
export async function createAccount(writing: Writing, asked: Asked, groupId: number | null) {
  const { tx, actor, services } = writing;
  const settings = await services.settings.current();
  if (groupId !== null) {
    await holdGroup(tx, groupId);
    if (!isAdministrator(actor)) await refuseBeyondLimit(tx, groupId, settings.group_service_accounts_limit);
  }
  const generated = `service_account_${groupId === null ? "" : `group_${groupId}_`}${randomBytes(16).toString("hex")}`;
  const username = given(asked.username) ?? generated;
  const chosen = given(asked.email)?.toLowerCase();
  const email = chosen ?? `${generated}@${noreplyDomain(services.config.externalUrl)}`;
  await holdAddress(tx, email);
  refuseTaken(await whatIsTaken(tx, { email, username }), badRequest);
  if (chosen !== undefined) await checkAddress(tx, chosen, services);

  const confirmed = chosen === undefined || (await isTrusted(writing, chosen, groupId));
  const wanted = {
    ...(await rightsOf(tx, actor)),
    name: given(asked.name) ?? "Service account user",
    ...{ username, email, force_random_password: true, skip_confirmation: confirmed, private_profile: false },
  };
  const id = await createUser(tx, wanted, {
    // Only `skip_confirmation` says whether the address is confirmed: the instance's setting is for administrators.
    settings: { ...settings, email_confirmation: "hard" },
    ...{ blobs: services.blobs, passwordDigest: undefined, actorId: actor.user.id },
  });
  await tx
    .updateTable("users")
    .set({ user_type: "service_account", provisioned_by_group_id: groupId })
    .where("id", "=", id)
    .execute();
  if (!confirmed) await mailTo(services.jobs, tx, { kind: "confirm_email", userId: id, email });
  return accountsOf(tx).where("u.id", "=", id).executeTakeFirstOrThrow();
}

/** Changes a service account; another address counts once it is confirmed. */
export async function updateAccount(writing: Writing, account: NamedAccount, asked: Asked) {
  const { tx, actor, services } = writing;
  const name = given(asked.name);
  const username = given(asked.username);
  const email = given(asked.email)?.toLowerCase() ?? account.email;
  if (email !== account.email) await holdAddress(tx, email);
  const taken = await whatIsTaken(tx, { email, username: username ?? account.username }, account);
  refuseTaken(taken, (reason) => new Refusal("invalid", reason));
  const changed: string[] = [];
  if (name !== undefined || username !== undefined) {
    const settings = await services.settings.current();
    const wanted = { id: account.id, ...(name !== undefined && { name }), ...(username !== undefined && { username }) };
    changed.push(
      ...(await updateUser(tx, wanted, {
        ...{ settings, blobs: services.blobs, passwordDigest: undefined, actorId: actor.user.id },
      })),
    );
  }
  if (email !== account.email) changed.push(await moveTo(writing, account, email));
  return { changed, row: await accountsOf(tx).where("u.id", "=", account.id).executeTakeFirstOrThrow() };
}

async function moveTo(writing: Writing, { id, provisioned_by_group_id: groupId }: NamedAccount, email: string) {
  const { tx, services } = writing;
  await checkAddress(tx, email, services);
  const trusted = await isTrusted(writing, email, groupId);
  await tx
    .updateTable("users")
    .set(trusted ? { email, confirmed_at: now, unconfirmed_email: null } : { unconfirmed_email: email })
    .set({ updated_at: now })
    .where("id", "=", id)
    .execute();
  if (!trusted) await mailTo(services.jobs, tx, { kind: "confirm_email", userId: id, email });
  return trusted ? "email" : "unconfirmed_email";
}

// Held, so that the account is there when the group's accounts are ended, or the group is known to end.
async function holdGroup(tx: Tx, id: number) {
  const place = await holdPlace(tx, id);
  if (!place) throw missing("Group");
  if (place.traversal_ids.length > 1) throw badRequest("Group is not a top-level group");
  refuseClosed(place);
}

/** The lock makes those who add accounts to one group count one after the other. */
async function refuseBeyondLimit(tx: Tx, groupId: number, limit: number) {
  if (limit === 0) return;
  await sql`select pg_advisory_xact_lock(hashtextextended(${`service accounts of ${groupId}`}, 0))`.execute(tx);
  const accounts = await accountsOf(tx, groupId).limit(limit).execute();
  if (accounts.length >= limit)
    throw forbidden(
      `The group has ${limit} service accounts, the most that it may have; ask an administrator for more`,
    );
}

/** What its maker may not do themselves, an account may not do either. */
async function rightsOf(tx: Tx, { user }: Actor) {
  if (user.admin) return {};
  const maker = await tx
    .selectFrom("users")
    .select(["external", "can_create_group", "projects_limit"])
    .where("id", "=", user.id)
    .executeTakeFirst();
  if (!maker) throw forbidden();
  return maker;
}

function refuseTaken(taken: { email: boolean; username: boolean }, refusal: (reason: string) => Refusal) {
  const texts = [
    ...(taken.username ? ["Username has already been taken"] : []),
    ...(taken.email ? ["Email has already been taken"] : []),
  ];
  if (texts.length > 0) throw refusal(texts.join(" and "));
}

async function checkAddress(tx: Tx, email: string, { config }: Services) {
  const problems: Problems = {};
  checkEmail(problems, "email", email);
  if (isNoreply(email, config.externalUrl)) refuse(problems, "email", "is in a domain that is not given out");
  await refusePendingAddress(tx, problems, email);
  throwProblems(problems);
}

/**
 * Whether an address counts without being confirmed: an administrator gives it and the instance wants no confirmation,
 * or the group has proved its domain. An Owner could otherwise take anybody's address.
 */
async function isTrusted({ tx, actor, services }: Writing, email: string, groupId: number | null): Promise<boolean> {
  const { email_confirmation } = await services.settings.current();
  if (email_confirmation === "off" && isAdministrator(actor)) return true;
  const domain = email.slice(email.lastIndexOf("@") + 1);
  if (groupId === null) return false;
  return (await provenDomainsOf(tx, groupId).where("d.domain", "=", domain).executeTakeFirst()) !== undefined;
}
