import { sql } from "kysely";
import { forbidden } from "#lib/refusal.ts";
import type { Services } from "#services.ts";

/**
 * Returns how many bytes a push to a project may send: what remains of the storage limit of its creator. Undefined if
 * there is no limit, as for administrators. Refuses if nothing remains.
 */
export async function storageLeft({ config, db, settings }: Services, projectId: number): Promise<number | undefined> {
  const { user_storage_limit_bytes: limit } = await settings.current();
  if (limit === 0) return undefined;
  const { rows } = await sql<{ username: string; used: number }>`
    select u.username, (
      select coalesce(sum(r.size_bytes), 0)::bigint from projects own join repositories r on r.project_id = own.id
      where own.creator_id = u.id) as used
    from projects p join users u on u.id = p.creator_id
    where p.id = ${projectId} and not u.admin`.execute(db.read);
  const [creator] = rows;
  if (!creator) return undefined;
  if (creator.used < limit) return Math.min(limit - creator.used, config.gitMaxPack);
  throw forbidden(
    `The projects that ${creator.username} created take ${gib(creator.used)} GiB of the ${gib(limit)} GiB that they may ` +
      "take together; delete some, or ask an administrator for more",
  );
}

const gib = (bytes: number) => (bytes / 2 ** 30).toFixed(2);
