import { sql, type Updateable, type UpdateObject } from "kysely";
import type { Static } from "typebox";
import type { Tx } from "#db/database.ts";
import type { InstanceSettings } from "#db/settings.ts";
import type { Database } from "#db/types.ts";
import type { Blobs } from "#lib/blobs.ts";
import { type Problems, refuse, throwProblems, tooLong } from "#lib/problems.ts";
import { conflict, missing } from "#lib/refusal.ts";
import { avatarColumns, checkAvatar } from "#resources/avatars/images.ts";
import { keepAnAdministrator } from "./administrators.ts";
import { emailChange, holdAddress } from "./emails.ts";
import { givenIdentity, keepIdentity } from "./identities.ts";
import type { NewUser, UserChanges } from "./params.ts";
import {
  checkChoices,
  checkDiscord,
  checkEmail,
  checkName,
  checkPassword,
  checkProjectsLimit,
  checkUsername,
  checkWebsite,
  detailTooLong,
} from "./validate.ts";

type New = Static<typeof NewUser>;
type Changes = Static<typeof UserChanges>;
type Columns = Updateable<Database["users"]>;

/** What a write needs beside what was asked for. */
export interface Writing {
  readonly settings: InstanceSettings;
  readonly blobs: Blobs;
  /** The digest of the password that was chosen, where one was. */
  readonly passwordDigest: string | undefined;
  readonly actorId: number | null;
}

/** The password that the caller chose; a random one is as good as none, since nobody knows it. */
export const chosenPassword = (given: Pick<New, "password" | "reset_password" | "force_random_password">) =>
  given.reset_password || given.force_random_password ? undefined : given.password;

/** What somebody from outside may not do. */
const EXTERNAL = { can_create_group: false, projects_limit: 0 };

/** Makes a user with their personal namespace and gives the new id. */
export async function createUser(
  tx: Tx,
  given: New,
  { settings, blobs, passwordDigest, actorId }: Writing,
): Promise<number> {
  const username = given.username.trim();
  const name = cleanName(given.name);
  const email = given.email.trim().toLowerCase();
  await holdAddress(tx, email);
  await refuseTaken(tx, { email, username });

  const problems: Problems = {};
  checkUsername(problems, username);
  checkName(problems, name);
  checkEmail(problems, "email", email);
  await refusePendingAddress(tx, problems, email);
  const chosen = chosenPassword(given);
  if (chosen !== undefined)
    checkPassword(problems, chosen, settings.password_minimum_length, { username, name, email });
  const confirmed = given.skip_confirmation === true || settings.email_confirmation === "off";
  const columns = await profileColumns(given, settings, problems, confirmed ? [email] : []);
  const identity = await givenIdentity(tx, given, problems);
  throwProblems(problems);

  const { id: namespaceId } = await tx
    .insertInto("namespaces")
    .values({ path: username, name })
    .returning("id")
    .executeTakeFirstOrThrow();
  const { id } = await tx
    .insertInto("users")
    .values({
      private_profile: settings.user_defaults_to_private_profile,
      projects_limit: settings.default_projects_limit,
      can_create_group: settings.can_create_group,
      theme_id: settings.default_theme_id,
      ...columns,
      ...(columns.external && EXTERNAL),
      ...(await avatarColumns(given.avatar, blobs)),
      username,
      name,
      email,
      password_digest: passwordDigest ?? null,
      confirmed_at: confirmed ? sql<string>`now()` : null,
      namespace_id: namespaceId,
      created_by_id: actorId,
      provisioned_by_group_id: identity?.saml_provider_id ?? null,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  if (identity) await keepIdentity(tx, id, identity);
  return id;
}

/** Changes a user; what is not given stays. Returns the names of the columns that were written. */
export async function updateUser(
  tx: Tx,
  given: Changes,
  { settings, blobs, passwordDigest, actorId }: Writing,
): Promise<string[]> {
  const user = await tx
    .selectFrom("users")
    .selectAll()
    .where("id", "=", given.id)
    .where("removal_began_at", "is", null)
    .forUpdate()
    .executeTakeFirst();
  if (!user) throw missing("User");
  const username = given.username?.trim() ?? user.username;
  const name = given.name === undefined ? user.name : cleanName(given.name);
  const email = given.email?.trim().toLowerCase() ?? user.email;
  if (email !== user.email) await holdAddress(tx, email);
  await refuseTaken(tx, { email, username }, user);

  const problems: Problems = {};
  if (username !== user.username) checkUsername(problems, username);
  checkName(problems, name);
  if (given.password !== undefined) {
    checkPassword(problems, given.password, settings.password_minimum_length, { username, name, email });
  }
  const verified = await verifiedAddresses(tx, user.id, user.confirmed_at === null ? undefined : user.email);
  const columns = await profileColumns(given, settings, problems, verified);
  const moved = await emailChange(tx, user, email, given.skip_reconfirmation === true, problems);
  const identity = await givenIdentity(tx, given, problems);
  throwProblems(problems);
  if (user.admin && columns.admin === false) await keepAnAdministrator(tx, user.id);

  if (username !== user.username || name !== user.name) {
    await tx.updateTable("namespaces").set({ path: username, name }).where("id", "=", user.namespace_id).execute();
  }
  const changes: UpdateObject<Database, "users"> = {
    ...columns,
    ...moved,
    ...(await avatarColumns(given.avatar, blobs)),
    ...(username !== user.username && { username }),
    ...(name !== user.name && { name }),
    ...(passwordDigest !== undefined && {
      password_digest: passwordDigest,
      // A password that somebody else chose is for one use.
      password_expired: user.id !== actorId,
    }),
  };
  if (given.external && !user.external) Object.assign(changes, EXTERNAL);
  if (identity) await keepIdentity(tx, user.id, identity);
  if (Object.keys(changes).length > 0) {
    await tx
      .updateTable("users")
      .set({ ...changes, updated_at: sql<string>`now()` })
      .where("id", "=", user.id)
      .execute();
  }
  return Object.keys(changes).filter((column) => column !== "password_digest");
}

interface Own {
  readonly id: number;
  readonly namespace_id: number;
}

/** A taken address is told before a taken name; the unique indexes hold where two callers race. */
async function refuseTaken(tx: Tx, wanted: { email: string; username: string }, own?: Own) {
  const taken = await whatIsTaken(tx, wanted, own);
  if (taken.email) throw conflict("Email has already been taken");
  if (taken.username) throw conflict("Username has already been taken");
}

/** Which of an address and a name somebody else has. */
export async function whatIsTaken(tx: Tx, { email, username }: { email: string; username: string }, own?: Own) {
  const others = (id: "u.id" | "e.user_id") => (own ? sql`${sql.ref(id)} <> ${own.id}` : sql`true`);
  const otherPlaces = own ? sql`r.namespace_id <> ${own.namespace_id}` : sql`true`;
  // A user's name is the first word of addresses, as a group's path may be.
  const { rows } = await sql<{ email: boolean; username: boolean }>`select
    exists (select from users u where lower(u.email) = ${email} and ${others("u.id")})
      or exists (select from emails e where lower(e.email) = ${email} and e.confirmed_at is not null
        and ${others("e.user_id")}) as email,
    exists (select from users u where lower(u.username) = lower(${username}) and ${others("u.id")})
      or exists (select from routes r where r.parent_id = 0 and r.path = lower(${username}) and not r.moved
        and ${otherPlaces}) as username
  `.execute(tx);
  return { email: rows[0]?.email === true, username: rows[0]?.username === true };
}

export async function refusePendingAddress(tx: Tx, problems: Problems, email: string) {
  const pending = await tx
    .selectFrom("emails")
    .select("id")
    .where(sql`lower(email)`, "=", email)
    .executeTakeFirst();
  if (pending) refuse(problems, "email", "has already been taken");
}

async function verifiedAddresses(tx: Tx, userId: number, primary: string | undefined): Promise<string[]> {
  const secondary = await tx
    .selectFrom("emails")
    .select("email")
    .where("user_id", "=", userId)
    .where("confirmed_at", "is not", null)
    .execute();
  return [...(primary === undefined ? [] : [primary]), ...secondary.map(({ email }) => email.toLowerCase())];
}

/** The columns that create and update share, checked. */
async function profileColumns(
  given: Omit<Partial<New>, "username" | "name" | "email">,
  settings: InstanceSettings,
  problems: Problems,
  verified: readonly string[],
): Promise<Columns> {
  const columns: Columns = {};
  const texts = ["linkedin", "twitter", "github", "organization", "job_title", "pronouns"] as const;
  for (const field of texts) {
    const text = given[field];
    if (text === undefined) continue;
    columns[field] = stripTags(text ?? "");
    detailTooLong(problems, field, columns[field], field === "pronouns" ? 50 : 500);
  }
  if (given.bio !== undefined) tooLong(problems, "bio", (columns.bio = given.bio ?? ""), 255);
  if (given.location !== undefined) {
    columns.location = given.location === null ? null : stripTags(given.location);
    detailTooLong(problems, "location", columns.location ?? "", 500);
  }
  if (given.website_url !== undefined) checkWebsite(problems, (columns.website_url = given.website_url ?? ""));
  if (given.discord !== undefined) checkDiscord(problems, (columns.discord = given.discord ?? ""));
  if (given.note !== undefined) columns.note = given.note;
  for (const field of ["public_email", "commit_email"] as const) {
    const address = given[field];
    if (address === undefined) continue;
    columns[field] = address === null || address === "" ? null : address.trim().toLowerCase();
    if (columns[field] === null || (field === "commit_email" && columns[field] === "_private")) continue;
    if (!verified.includes(columns[field])) refuse(problems, field, "must be an email you have verified");
  }
  const flags = ["admin", "auditor", "external", "can_create_group", "view_diffs_file_by_file"] as const;
  for (const field of flags) if (given[field] !== undefined) columns[field] = given[field];
  if (given.private_profile !== undefined) {
    columns.private_profile = given.private_profile ?? settings.user_defaults_to_private_profile;
  }
  checkChoices(problems, given);
  if (given.theme_id !== undefined) columns.theme_id = given.theme_id;
  if (given.color_scheme_id !== undefined) columns.color_scheme_id = given.color_scheme_id;
  if (given.projects_limit !== undefined) checkProjectsLimit(problems, (columns.projects_limit = given.projects_limit));
  const limits = ["shared_runners_minutes_limit", "extra_shared_runners_minutes_limit"] as const;
  for (const field of limits) if (given[field] !== undefined) columns[field] = given[field];
  if (given.avatar) checkAvatar(problems, given.avatar);
  return columns;
}

const cleanName = (name: string) => name.replaceAll(/<[^<>]*>|[<>]/g, "-").trim();
const stripTags = (text: string) => text.replaceAll(/<[^<>]*>/g, "").trim();
