import { type RawBuilder, sql } from "kysely";
import { forbidden } from "#lib/refusal.ts";
import type { Services } from "#services.ts";

/** The bytes that a push to a project or group may send: what remains of the storage limit of its creator. */
export const storageLeft = (services: Services, table: "projects" | "namespaces", id: number) =>
  storageLeftOf(services, sql`(select creator_id from ${sql.table(table)} where id = ${id})`);

/**
 * Returns how many bytes remain of the storage limit of a user. Undefined if there is no limit, as for administrators.
 * Refuses if nothing remains.
 */
export async function storageLeftOf(
  { config, db, settings }: Services,
  userId: number | RawBuilder<unknown>,
): Promise<number | undefined> {
  const { user_storage_limit_bytes: limit } = await settings.current();
  if (limit === 0) return undefined;
  const { rows } = await sql<{ username: string; used: number }>`
    select u.username, (
      select coalesce(sum(r.size_bytes), 0)::bigint from (
        select r.size_bytes from projects own join repositories r on r.project_id = own.id where own.creator_id = u.id
        union all
        select r.size_bytes from projects own join repositories r on r.wiki_project_id = own.id
        where own.creator_id = u.id
        union all
        select r.size_bytes from namespaces own join repositories r on r.wiki_group_id = own.id
        where own.creator_id = u.id
        union all
        select r.size_bytes from snippets own join repositories r on r.snippet_id = own.id where own.author_id = u.id
      ) r) as used
    from users u where u.id = ${userId} and not u.admin`.execute(db.read);
  const [creator] = rows;
  if (!creator) return undefined;
  if (creator.used < limit) return Math.min(limit - creator.used, config.gitMaxPack);
  throw forbidden(
    `The projects, groups and snippets that ${creator.username} created take ${gib(creator.used)} GiB of the ${gib(limit)} GiB that they may ` +
      "take together; delete some, or ask an administrator for more",
  );
}

const gib = (bytes: number) => (bytes / 2 ** 30).toFixed(2);
