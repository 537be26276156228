import { sql } from "kysely";
import Type, { type Static } from "typebox";
import type { Databases, Db, Tx } from "#db/database.ts";
import { bigints, type Lookup } from "#db/loader.ts";
import type { JobKind } from "#jobs/kind.ts";
import { retried } from "#domains/foundation/mails/send.ts";
import { type Item, ITEM_COLUMNS, type ItemKind, type NotifyingWrite } from "#domains/conversation/items/item.ts";

const exact = { additionalProperties: false };
const Ids = Type.Array(Type.Integer());

const notification = {
  item: Type.Object({ column: Type.Enum([...ITEM_COLUMNS]), id: Type.Integer() }, exact),
  /** Who did it; they are not told. */
  author_id: Type.Integer(),
  /** What those who take part in the item or watch its container are told, too. */
  what: Type.Array(Type.Enum(["created", "commented", "closed", "reopened", "reassigned"])),
  note_id: Type.Optional(Type.Integer()),
  assigned: Ids,
  unassigned: Ids,
  mentioned: Ids,
};
/** What somebody did to an item, by ids: what it says and who may hear of it is decided when it is mailed. */
export interface Notification extends Omit<Static<Type.TObject<typeof notification>>, "item"> {
  readonly item: Item;
}

const Queued = Type.Object({ ...notification, after: Type.Integer() }, exact);
/** Queues the mails to the next people, by their ids. */
export const queueMailsKind = { name: "notifications.queue", queue: "default", payload: Queued } satisfies JobKind<
  typeof Queued
>;

const Mailed = Type.Object({ ...notification, user_id: Type.Integer() }, exact);
/** Mails one person. */
export const notificationKind = {
  ...{ ...retried, queue: "notifications" },
  name: "notifications.send",
  payload: Mailed,
} as const satisfies JobKind<typeof Mailed>;

type Notifier = NotifyingWrite["services"];

/** Whether mail can be sent at all. */
export const sendsMail = ({ config }: Notifier): boolean => config.smtpUrl !== undefined;

interface Named {
  readonly note_id?: number | undefined;
  readonly assigned?: readonly number[];
  readonly unassigned?: readonly number[];
  readonly mentioned?: readonly number[];
}

/** Tells people by mail what somebody did, once the transaction has committed. */
export async function notify(
  services: Notifier,
  tx: Tx,
  { kind: { column }, id }: Item,
  authorId: number,
  what: Notification["what"],
  { note_id, assigned = [], unassigned = [], mentioned = [] }: Named,
): Promise<void> {
  const isNamed = [...assigned, ...unassigned, ...mentioned].some((userId) => userId !== authorId);
  if (!sendsMail(services) || (what.length === 0 && !isNamed)) return;
  await services.jobs.add(tx, queueMailsKind, {
    ...{ item: { column, id }, author_id: authorId, what, after: 0 },
    ...(note_id !== undefined && { note_id }),
    ...{ assigned: [...assigned], unassigned: [...unassigned], mentioned: [...mentioned] },
  });
}

/** The id that an item will have, for a notification that is queued before it: its number is taken last. */
export async function nextItemId(db: Db, { table }: ItemKind): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select nextval(pg_get_serial_sequence(${table}, 'id')) as id`.execute(db);
  return rows[0]!.id;
}

/** The column of an id and its value in an insert; without an id the insert is as quick as it was. */
export const idColumn = (id: number | undefined) =>
  id === undefined ? { name: sql``, value: sql`` } : { name: sql`id,`, value: sql`${id}::bigint,` };

/** Projects that somebody may watch. Which of those who watch everything belong to one is left to the job. */
const watchedLookup: Lookup<number, { readonly id: number }> = {
  text: `select p.id from projects p join namespaces n on n.id = p.namespace_id
    where p.id = any($1::bigint[]) and (
      exists (select from notification_settings w where w.project_id = p.id and w.level = 'watch')
      or exists (select from notification_settings w where w.group_id = any(n.traversal_ids) and w.level = 'watch')
      or exists (select from notification_settings w
        where w.level = 'watch' and w.group_id is null and w.project_id is null))`,
  keys: bigints,
  key: ({ id }) => id,
};

export const mayBeWatched = async (db: Databases, projectId: number): Promise<boolean> =>
  (await db.point.load(watchedLookup, projectId)) !== undefined;
