import { sql, type Updateable, type UpdateObject } from "kysely";
import type { Static } from "typebox";
import type { Tx } from "#db/database.ts";
import type { InstanceSettings } from "#db/settings.ts";
import type { Database } from "#db/types.ts";
import type { Blobs } from "#lib/blobs.ts";
import { checkLength, type Problems, refuse, throwProblems } from "#lib/problems.ts";
import { badParameter, conflict, missing } from "#lib/refusal.ts";
import { avatarColumns, checkAvatar } from "#domains/foundation/avatars/images.ts";
import { refuseLastAdministrator } from "./administrators.ts";
import { changePrimaryEmail, lockAddress } from "./emails.ts";
import { readIdentity, upsertIdentity } from "./identities.ts";
import type { NewUser, UserChanges } from "./params.ts";
import {
  checkDetailLength,
  checkDiscord,
  checkEmail,
  checkName,
  checkPassword,
  checkProjectsLimit,
  checkThemes,
  checkTimeZone,
  checkUsername,
  checkWebsite,
} from "./validate.ts";

type NewUserParams = Static<typeof NewUser>;
type UserChangeParams = Static<typeof UserChanges>;
type UserColumns = Updateable<Database["users"]>;

/** What creating or changing a user needs besides the parameters. */
export interface UserWriteContext {
  readonly settings: InstanceSettings;
  readonly blobs: Blobs;
  /** The digest of the chosen password, if one was chosen. */
  readonly passwordDigest: string | undefined;
  readonly actorId: number | null;
}

/** The password that the caller chose; a random one is as good as none, since nobody knows it. */
export function chosenPassword(params: Pick<NewUserParams, "password" | "reset_password" | "force_random_password">) {
  if (params.reset_password || params.force_random_password) return undefined;
  if (params.password === undefined) throw badParameter("password is missing");
  return params.password;
}

const LIMITS_OF_EXTERNAL_USERS = { can_create_group: false, projects_limit: 0 };

/** Creates a user with their personal namespace and returns the user's id. */
export async function createUser(
  tx: Tx,
  params: NewUserParams,
  { settings, blobs, passwordDigest, actorId }: UserWriteContext,
): Promise<number> {
  const username = params.username.trim();
  const name = cleanName(params.name);
  const email = params.email.trim().toLowerCase();
  await lockAddress(tx, email);
  await refuseTaken(tx, { email, username });

  const problems: Problems = {};
  checkUsername(problems, username);
  checkName(problems, name);
  checkEmail(problems, "email", email);
  await refuseSecondaryAddress(tx, problems, email);
  const password = chosenPassword(params);
  if (password !== undefined)
    checkPassword(problems, password, settings.password_minimum_length, { username, name, email });
  const confirmed = params.skip_confirmation === true || settings.email_confirmation === "off";
  const columns = await profileColumns(params, settings, problems, confirmed ? [email] : []);
  const identity = await readIdentity(tx, params, problems);
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
      ...(columns.external && LIMITS_OF_EXTERNAL_USERS),
      ...(await avatarColumns(params.avatar, blobs)),
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
  if (identity) await upsertIdentity(tx, id, identity);
  return id;
}

/** Changes the fields of a user that were sent, and returns the names of the changed columns. */
export async function updateUser(
  tx: Tx,
  params: UserChangeParams,
  { settings, blobs, passwordDigest, actorId }: UserWriteContext,
): Promise<string[]> {
  const user = await tx
    .selectFrom("users")
    .selectAll()
    .where("id", "=", params.id)
    .where("removal_began_at", "is", null)
    .forUpdate()
    .executeTakeFirst();
  if (!user) throw missing("User");
  const username = params.username?.trim() ?? user.username;
  const name = params.name === undefined ? user.name : cleanName(params.name);
  const email = params.email?.trim().toLowerCase() ?? user.email;
  if (email !== user.email) await lockAddress(tx, email);
  await refuseTaken(tx, { email, username }, user);

  const problems: Problems = {};
  if (username !== user.username) checkUsername(problems, username);
  checkName(problems, name);
  if (params.password !== undefined) {
    checkPassword(problems, params.password, settings.password_minimum_length, { username, name, email });
  }
  const verified = await verifiedAddresses(tx, user.id, user.confirmed_at === null ? undefined : user.email);
  const columns = await profileColumns(params, settings, problems, verified);
  const emailColumns = await changePrimaryEmail(tx, user, email, params.skip_reconfirmation === true, problems);
  const identity = await readIdentity(tx, params, problems);
  throwProblems(problems);
  if (user.admin && columns.admin === false) await refuseLastAdministrator(tx, user.id);

  if (username !== user.username || name !== user.name) {
    await tx.updateTable("namespaces").set({ path: username, name }).where("id", "=", user.namespace_id).execute();
  }
  const changes: UpdateObject<Database, "users"> = {
    ...columns,
    ...emailColumns,
    ...(await avatarColumns(params.avatar, blobs)),
    ...(username !== user.username && { username }),
    ...(name !== user.name && { name }),
    ...(passwordDigest !== undefined && {
      password_digest: passwordDigest,
      // A password that another user chose must be changed at the next sign-in.
      password_expired: user.id !== actorId,
    }),
  };
  if (params.external && !user.external) Object.assign(changes, LIMITS_OF_EXTERNAL_USERS);
  if (identity) await upsertIdentity(tx, user.id, identity);
  if (Object.keys(changes).length > 0) {
    await tx
      .updateTable("users")
      .set({ ...changes, updated_at: sql<string>`now()` })
      .where("id", "=", user.id)
      .execute();
  }
  return Object.keys(changes).filter((column) => column !== "password_digest");
}

/** A user whose own address and username do not count as taken. */
interface ExistingUser {
  readonly id: number;
  readonly namespace_id: number;
}

/** A taken address is reported before a taken username; unique indexes decide between concurrent requests. */
async function refuseTaken(tx: Tx, wanted: { email: string; username: string }, user?: ExistingUser) {
  const taken = await findTaken(tx, wanted, user);
  if (taken.email) throw conflict("Email has already been taken");
  if (taken.username) throw conflict("Username has already been taken");
}

/** Whether another user has the address, and whether another user or group has the username. */
export async function findTaken(
  tx: Tx,
  { email, username }: { email: string; username: string },
  user?: ExistingUser,
): Promise<{ email: boolean; username: boolean }> {
  const isOther = (id: "u.id" | "e.user_id") => (user ? sql`${sql.ref(id)} <> ${user.id}` : sql`true`);
  const isOtherNamespace = user ? sql`r.namespace_id <> ${user.namespace_id}` : sql`true`;
  // A username is a top-level path, like the path of a top-level group.
  const { rows } = await sql<{ email: boolean; username: boolean }>`select
    exists (select from users u where lower(u.email) = ${email} and ${isOther("u.id")})
      or exists (select from emails e where lower(e.email) = ${email} and e.confirmed_at is not null
        and ${isOther("e.user_id")}) as email,
    exists (select from users u where lower(u.username) = lower(${username}) and ${isOther("u.id")})
      or exists (select from routes r where r.parent_id = 0 and r.path = lower(${username}) and not r.moved
        and ${isOtherNamespace}) as username
  `.execute(tx);
  return { email: rows[0]?.email === true, username: rows[0]?.username === true };
}

/** Refuses an address that a user has added as a secondary one, even if it is not confirmed. */
export async function refuseSecondaryAddress(tx: Tx, problems: Problems, email: string) {
  const secondary = await tx
    .selectFrom("emails")
    .select("id")
    .where(sql`lower(email)`, "=", email)
    .executeTakeFirst();
  if (secondary) refuse(problems, "email", "has already been taken");
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

/** Validates the parameters that creating and updating share, and returns their columns. */
async function profileColumns(
  params: Omit<Partial<NewUserParams>, "username" | "name" | "email">,
  settings: InstanceSettings,
  problems: Problems,
  verified: readonly string[],
): Promise<UserColumns> {
  const columns: UserColumns = {};
  const texts = ["linkedin", "twitter", "github", "organization", "job_title", "pronouns"] as const;
  for (const field of texts) {
    const text = params[field];
    if (text === undefined) continue;
    columns[field] = stripTags(text ?? "");
    checkDetailLength(problems, field, columns[field], field === "pronouns" ? 50 : 500);
  }
  if (params.bio !== undefined) checkLength(problems, "bio", (columns.bio = params.bio ?? ""), 255);
  if (params.location !== undefined) {
    columns.location = params.location === null ? null : stripTags(params.location);
    checkDetailLength(problems, "location", columns.location ?? "", 500);
  }
  if (params.website_url !== undefined) checkWebsite(problems, (columns.website_url = params.website_url ?? ""));
  if (params.discord !== undefined) checkDiscord(problems, (columns.discord = params.discord ?? ""));
  if (params.note !== undefined) columns.note = params.note;
  if (params.timezone !== undefined) columns.time_zone = readTimeZone(problems, params.timezone);
  for (const field of ["public_email", "commit_email"] as const) {
    const address = params[field];
    if (address === undefined) continue;
    columns[field] = address === null || address === "" ? null : address.trim().toLowerCase();
    if (columns[field] === null || (field === "commit_email" && columns[field] === "_private")) continue;
    if (!verified.includes(columns[field])) refuse(problems, field, "must be an email you have verified");
  }
  const flags = ["admin", "auditor", "external", "can_create_group", "view_diffs_file_by_file"] as const;
  for (const field of flags) if (params[field] !== undefined) columns[field] = params[field];
  if (params.private_profile !== undefined) {
    columns.private_profile = params.private_profile ?? settings.user_defaults_to_private_profile;
  }
  checkThemes(problems, params);
  if (params.theme_id !== undefined) columns.theme_id = params.theme_id;
  if (params.color_scheme_id !== undefined) columns.color_scheme_id = params.color_scheme_id;
  if (params.projects_limit !== undefined)
    checkProjectsLimit(problems, (columns.projects_limit = params.projects_limit));
  const limits = ["shared_runners_minutes_limit", "extra_shared_runners_minutes_limit"] as const;
  for (const field of limits) if (params[field] !== undefined) columns[field] = params[field];
  if (params.avatar) checkAvatar(problems, params.avatar);
  return columns;
}

/** The time zone to store for a user, checked; none for an empty text. */
export function readTimeZone(problems: Problems, name: string | null): string | null {
  if (name === null || name.trim() === "") return null;
  checkTimeZone(problems, name.trim());
  return name.trim();
}

const cleanName = (name: string) => name.replaceAll(/<[^<>]*>|[<>]/g, "-").trim();
const stripTags = (text: string) => text.replaceAll(/<[^<>]*>/g, "").trim();
