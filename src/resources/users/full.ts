import type { Db } from "#db/database.ts";
import type { Services } from "#services.ts";
import type { AdminUser } from "./entity.ts";
import { presentAdminUser } from "./present.ts";
import { followedAmong } from "#resources/follows/queries.ts";
import { customAttributesOf, identitiesOf, summariesOf, wholeUsers } from "./queries.ts";

interface Around {
  readonly services: Services;
  readonly site: string;
  readonly customAttributes: boolean;
  readonly viewerId: number;
}

/** Users as administrators see them, in the order of the ids; a fixed number of statements whatever their number. */
export async function adminViews(
  db: Db,
  ids: readonly number[],
  { services, site, customAttributes, viewerId }: Around,
): Promise<AdminUser[]> {
  if (ids.length === 0) return [];
  const rows = await wholeUsers(db, ids);
  const identities = Map.groupBy(await identitiesOf(db, ids), ({ user_id }) => user_id);
  const creatorIds = [...new Set(rows.flatMap(({ created_by_id }) => created_by_id ?? []))];
  const creators = new Map(
    (creatorIds.length > 0 ? await summariesOf(db, creatorIds) : []).map((row) => [row.id, row]),
  );
  const attributes = customAttributes
    ? Map.groupBy(await customAttributesOf(db, ids), ({ user_id }) => user_id)
    : undefined;
  const known = rows.filter(({ followers_count }) => followers_count > 0).map(({ id }) => id);
  const followed = known.length > 0 ? await followedAmong(db, viewerId, known) : new Set();
  const view = { site, now: services.now() };
  return rows.map((row) =>
    presentAdminUser(
      row,
      {
        identities: identities.get(row.id) ?? [],
        creator: row.created_by_id === null ? undefined : creators.get(row.created_by_id),
        customAttributes: attributes && (attributes.get(row.id) ?? []),
        plan: services.config.plan,
        isFollowed: followed.has(row.id),
      },
      view,
    ),
  );
}
