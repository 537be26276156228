import type { Db } from "#db/database.ts";
import { missing } from "#lib/refusal.ts";
import type { Services } from "#services.ts";
import type { AdminUser } from "./entity.ts";
import { presentAdminUser, viewAt } from "./present.ts";
import { followedAmong } from "./following.ts";
import { adminUserRows, customAttributesOf, identitiesOf, summariesOf } from "./queries.ts";

/** What the view of administrators depends on besides the row. */
interface AdminViewOptions {
  readonly services: Services;
  readonly site: string;
  readonly customAttributes: boolean;
  readonly viewerId: number;
}

/** Users as administrators see them, in the order of the ids. The number of statements does not depend on theirs. */
export async function adminViews(
  db: Db,
  ids: readonly number[],
  { services, site, customAttributes, viewerId }: AdminViewOptions,
): Promise<AdminUser[]> {
  if (ids.length === 0) return [];
  const rows = await adminUserRows(db, ids);
  const identities = Map.groupBy(await identitiesOf(db, ids), ({ user_id }) => user_id);
  const creatorIds = [...new Set(rows.flatMap(({ created_by_id }) => created_by_id ?? []))];
  const creators = new Map(
    (creatorIds.length > 0 ? await summariesOf(db, creatorIds) : []).map((row) => [row.id, row]),
  );
  const attributes = customAttributes
    ? Map.groupBy(await customAttributesOf(db, ids), ({ user_id }) => user_id)
    : undefined;
  const withFollowers = rows.filter(({ followers_count }) => followers_count > 0).map(({ id }) => id);
  const followed = withFollowers.length > 0 ? await followedAmong(db, viewerId, withFollowers) : new Set();
  const view = viewAt(site, services);
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

export async function adminView(db: Db, id: number, options: AdminViewOptions): Promise<AdminUser> {
  const [view] = await adminViews(db, [id], options);
  if (!view) throw missing("User");
  return view;
}
