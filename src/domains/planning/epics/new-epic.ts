import { sql } from "kysely";
import { type GroupSeen, hasRole } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import type { Tx } from "#db/database.ts";
import { creationEvent } from "#domains/foundation/events/record.ts";
import { requireColor } from "#domains/planning/items/colors.ts";
import { NO_VOTES } from "#domains/planning/items/counts.ts";
import { takeIid } from "#domains/planning/items/iids.ts";
import { labelsByName } from "#domains/planning/labels/of-items.ts";
import { ofGroup } from "#domains/planning/items/containers.ts";
import { mentionsIn } from "#domains/attention/notifications/mentions.ts";
import type { ItemWrite } from "#domains/conversation/items/item.ts";
import { idColumn, nextItemId, notify, sendsMail } from "#domains/attention/notifications/notify.ts";
import { todosOf } from "#domains/attention/todos/of-items.ts";
import { presentEpic, type SingleEpic } from "./entity.ts";
import { EPIC } from "./kind.ts";
import type { NewEpic } from "./params.ts";
import { type DescribedEpic, type EpicRow, lockEpic } from "./queries.ts";
import { readersOfEpic } from "./readers.ts";
import { lockParents, lockParent, placeBelow } from "./tree.ts";
import { type EpicViewer, surroundingsOf } from "./views.ts";

export interface EpicWrite extends EpicViewer, ItemWrite {
  readonly actor: Actor;
  readonly group: GroupSeen;
}

const DEFAULT_COLOR = "#1068bf";

/** Creates an epic, below another if the request says so. */
export async function createEpic(write: EpicWrite, params: NewEpic): Promise<SingleEpic> {
  const { tx, actor, group } = write;
  if (!params.parent_id) return storeEpic(write, params);
  await lockParents(tx, group);
  return storeEpic(write, params, await lockParent(tx, actor, params.parent_id));
}

/** Creates an epic below another one of the same group. */
export async function createChildEpic(
  write: EpicWrite,
  parentIid: number,
  params: Pick<NewEpic, "title" | "confidential">,
): Promise<SingleEpic> {
  const { tx, actor, group } = write;
  await lockParents(tx, group);
  const parent = await lockEpic(tx, group, actor, parentIid);
  return storeEpic(write, { confidential: parent.confidential, ...params }, parent);
}

/** What the response shows is read first: all who create epics in the group wait for the last statement. */
async function storeEpic(write: EpicWrite, params: Omit<NewEpic, "id">, parent?: EpicRow): Promise<SingleEpic> {
  const { tx, actor, group, ignored } = write;
  const labels = await labelsByName(tx, ofGroup(group), params.labels ?? [], true);
  const mayDate = hasRole(actor, group, "owner");
  if (params.created_at !== undefined && !mayDate) ignored("created_at");
  const confidential = params.confidential ?? false;
  const draft = {
    group_id: group.id,
    parent_id: parent?.id ?? null,
    author_id: actor.user.id,
    title: params.title,
    description: params.description ?? null,
    color: params.color === undefined ? DEFAULT_COLOR : requireColor(params.color),
    confidential,
    start_date_fixed: params.start_date_fixed ?? null,
    start_date_is_fixed: params.start_date_is_fixed ?? false,
    due_date_fixed: params.due_date_fixed ?? null,
    due_date_is_fixed: params.due_date_is_fixed ?? false,
  };
  const surroundings = await surroundingsOf(tx, [draft], write);
  const mentioned = await readersOfEpic(tx, draft, mentionsIn(draft.description));
  const created = await insertEpic(tx, draft, {
    authorId: actor.user.id,
    id: await announce(write, mentioned),
    mentioned,
    labelIds: labels.map(({ id }) => id),
    createdAt: mayDate ? params.created_at : undefined,
    position: parent && (await placeBelow(tx, parent, { confidential, traversal_ids: group.traversal_ids })),
  });
  const names = labels.map(({ name }) => name).toSorted();
  const row: DescribedEpic = { ...draft, ...created, state: "opened", closed_at: null };
  return {
    ...presentEpic(row, { ...surroundings(row), inherited: undefined, labels: names, votes: NO_VOTES }),
    subscribed: true,
  };
}

/** Queues the mail about a new epic, if there is mail, and returns the id that the epic must have for it. */
async function announce({ tx, services, actor }: EpicWrite, mentioned: readonly number[]) {
  if (!sendsMail(services)) return undefined;
  const id = await nextItemId(tx, EPIC);
  await notify(services, tx, { kind: EPIC, id }, actor.user.id, ["created"], { mentioned });
  return id;
}

type Created = Pick<EpicRow, "id" | "iid" | "created_at" | "updated_at">;
type Draft = Omit<DescribedEpic, keyof Created | "state" | "closed_at">;

interface Besides {
  readonly authorId: number;
  readonly id: number | undefined;
  readonly labelIds: readonly number[];
  readonly createdAt: string | undefined;
  readonly position: number | undefined;
  readonly mentioned: readonly number[];
}

/** Inserts an epic with its labels in one statement, which locks the counter of the group. */
async function insertEpic(
  tx: Tx,
  draft: Draft,
  { authorId, id, labelIds, createdAt, position, mentioned }: Besides,
): Promise<Created> {
  const givenId = idColumn(id);
  const { rows } = await sql<Created>`
    with counter as (${takeIid("epic", draft.group_id)}), epic as (
      insert into epics (${givenId.name} group_id, iid, parent_id, relative_position, author_id, title, description,
        color, confidential, start_date_fixed, start_date_is_fixed, due_date_fixed, due_date_is_fixed, created_at)
      select ${givenId.value} ${draft.group_id}, iid, ${draft.parent_id}, ${position ?? null}, ${draft.author_id},
        ${draft.title}, ${draft.description}, ${draft.color}, ${draft.confidential}, ${draft.start_date_fixed},
        ${draft.start_date_is_fixed}, ${draft.due_date_fixed}, ${draft.due_date_is_fixed},
        coalesce(${createdAt ?? null}, now())
      from counter returning id, iid, created_at, updated_at
    ), linked as (
      insert into label_links (epic_id, label_id) select id, unnest(${labelIds}::bigint[]) from epic
    ), recorded as (
      insert into label_events (epic_id, user_id, label_id, action)
      select id, ${draft.author_id}, unnest(${labelIds}::bigint[]), 'add' from epic
    ), happened as (
      ${creationEvent(authorId, { group_id: draft.group_id }, "Epic", sql`select id from epic`)}
    ), told as (${todosOf(EPIC, sql`select id from epic`, draft.author_id, { mentioned })})
    select * from epic`.execute(tx);
  const [created] = rows;
  if (!created) throw new Error("an insert without a row");
  return created;
}
