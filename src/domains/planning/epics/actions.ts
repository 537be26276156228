import { sql } from "kysely";
import type { Static } from "typebox";
import { type GroupSeen, hasRole } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import type { Tx } from "#db/database.ts";
import { takeIid } from "#domains/planning/items/iids.ts";
import { labelsByName } from "#domains/planning/items/labels.ts";
import { presentEpic, type SingleEpic } from "./entity.ts";
import type { NewEpic } from "./params.ts";
import type { EpicRow } from "./queries.ts";
import { type EpicViewer, surroundingsOf } from "./views.ts";

export interface EpicWrite extends EpicViewer {
  readonly tx: Tx;
  readonly actor: Actor;
  readonly group: GroupSeen;
  ignored(name: string): void;
}

const DEFAULT_COLOR = "#1068bf";

/** The labels of a group and of those above it, by name; missing ones are created. */
export const namedLabels = async ({ tx, group }: EpicWrite, names: readonly string[]) =>
  labelsByName(tx, { group_id: group.id, traversal_ids: group.traversal_ids }, names, true);

/** Creates an epic. Its number is taken by the last statement, since everybody else who creates one waits for it. */
export async function createEpic(write: EpicWrite, params: Static<typeof NewEpic>): Promise<SingleEpic> {
  const { tx, actor, group, ignored } = write;
  const labels = await namedLabels(write, params.labels ?? []);
  const mayDate = hasRole(actor, group, "owner");
  if (params.created_at !== undefined && !mayDate) ignored("created_at");
  const draft = {
    group_id: group.id,
    parent_id: null,
    author_id: actor.user.id,
    title: params.title,
    description: params.description ?? null,
    color: params.color ?? DEFAULT_COLOR,
    confidential: params.confidential ?? false,
    start_date_fixed: params.start_date_fixed ?? null,
    start_date_is_fixed: params.start_date_is_fixed ?? false,
    due_date_fixed: params.due_date_fixed ?? null,
    due_date_is_fixed: params.due_date_is_fixed ?? false,
  };
  const surroundings = await surroundingsOf(tx, [draft], write);
  const labelIds = labels.map(({ id }) => id);
  const created = await insertEpic(tx, draft, labelIds, mayDate ? params.created_at : undefined);
  const names = labels.map(({ name }) => name).toSorted();
  const row: EpicRow = { ...draft, ...created, state: "opened", closed_at: null };
  return { ...presentEpic(row, { ...surroundings(row), inherited: undefined, labels: names }), subscribed: true };
}

type Created = Pick<EpicRow, "id" | "iid" | "created_at" | "updated_at">;
type Draft = Omit<EpicRow, keyof Created | "state" | "closed_at">;

/** Inserts an epic with its labels in one statement, which locks the counter of the group. */
async function insertEpic(
  tx: Tx,
  draft: Draft,
  labelIds: readonly number[],
  createdAt: string | undefined,
): Promise<Created> {
  const { rows } = await sql<Created>`
    with counter as (${takeIid("epic", draft.group_id)}), epic as (
      insert into epics (group_id, iid, parent_id, author_id, title, description, color, confidential,
        start_date_fixed, start_date_is_fixed, due_date_fixed, due_date_is_fixed, created_at)
      select ${draft.group_id}, iid, ${draft.parent_id}, ${draft.author_id}, ${draft.title}, ${draft.description},
        ${draft.color}, ${draft.confidential}, ${draft.start_date_fixed}, ${draft.start_date_is_fixed},
        ${draft.due_date_fixed}, ${draft.due_date_is_fixed}, coalesce(${createdAt ?? null}, now())
      from counter returning id, iid, created_at, updated_at
    ), linked as (
      insert into label_links (epic_id, label_id) select id, unnest(${labelIds}::bigint[]) from epic
    ), recorded as (
      insert into label_events (epic_id, user_id, label_id, action)
      select id, ${draft.author_id}, unnest(${labelIds}::bigint[]), 'add' from epic
    )
    select * from epic`.execute(tx);
  const [created] = rows;
  if (!created) throw new Error("an insert without a row");
  return created;
}
