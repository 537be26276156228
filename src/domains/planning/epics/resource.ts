import { type GroupSeen, inGroup } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import { type ItemSeen, itemResource } from "#domains/conversation/items/resource.ts";
import { SingleEpic } from "./entity.ts";
import { EPIC } from "./kind.ts";
import { EpicByAnyId, EpicId, EPICS_API } from "./params.ts";
import { type EpicRow, requireEpic, requireEpicByAnyId } from "./queries.ts";
import { epicView } from "./views.ts";

interface InGroup {
  readonly group: GroupSeen;
  readonly actor: Actor | null;
}

const itemOf = ({ id, iid }: EpicRow, { group, actor }: InGroup): ItemSeen => ({
  ...{ kind: EPIC, id, iid, project_id: null, locked: false },
  ...{ place: "group", container: group, actor },
});

const common = {
  kind: EPIC,
  one: "an epic",
  availability: EPICS_API,
  reader: inGroup("viewer"),
  signedIn: inGroup("viewer", { signedIn: true }),
  writer: inGroup("viewer", { signedIn: true, unlessArchived: true }),
  single: SingleEpic,
} as const;

/** Notes and label events of an epic are addressed by its id. */
export const EPICS = itemResource({
  ...common,
  path: "/groups/:id/epics/:epic_id",
  params: EpicByAnyId,
  find: async (db, seen, { epic_id }) => itemOf(await requireEpicByAnyId(db, seen.group, seen.actor, epic_id), seen),
  show: async (db, { group, actor, site }, { epic_id }) =>
    epicView(db, await requireEpicByAnyId(db, group, actor, epic_id), { actor, site, group }),
});

export const EPICS_BY_IID = itemResource({
  ...common,
  path: "/groups/:id/epics/:epic_iid",
  params: EpicId,
  find: async (db, seen, { epic_iid }) => itemOf(await requireEpic(db, seen.group, seen.actor, epic_iid), seen),
  show: async (db, { group, actor, site }, { epic_iid }) =>
    epicView(db, await requireEpic(db, group, actor, epic_iid), { actor, site, group }),
});
