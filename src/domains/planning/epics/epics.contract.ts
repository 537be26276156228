import { randomInt } from "node:crypto";
import type { Contract, FixtureContext, Parent } from "#test/contract.ts";
import { inGroup, READ, WRITE } from "#test/matrix/line.ts";
import { insertForIds, project, type Row, word } from "#test/matrix/rows.ts";
import { any, BY_OFFSET, common, FIRST, list, none, PLACES, unskippable } from "#test/plans/request.ts";

const EPIC = { child: "epic", inner: true } as const;
const READ_ONLY = { answers: { archived: 403, "archived above": 403 } } as const;
const UNAUDITED = { unaudited: "by oneself" } as const;
const MAX_IID = 2 ** 31;
/** As many as a list needs to be paged. */
const FEW = [1, 2, 3, 4, 5];

type Db = FixtureContext["db"];
type Group = Pick<Parent, "id" | "acting">;

/** An epic with a random number, so that no two groups have the same. */
const epicIn = ({ id, acting }: Group, columns: Row = {}): Row => ({
  ...{ group_id: id, iid: randomInt(1, MAX_IID), title: word(), author_id: acting ?? null },
  ...{ parent_id: null, relative_position: null, state: "opened", confidential: false, color: "#1068bf" },
  ...{ start_date_is_fixed: false, due_date_is_fixed: false },
  ...{ created_at: new Date().toISOString(), updated_at: new Date().toISOString() },
  ...columns,
});

const insertEpics = (db: Db, groups: readonly Group[], columns: (index: number) => Row = () => ({})) =>
  insertForIds(
    db,
    "epics",
    groups.map((group, index) => epicIn(group, columns(index))),
    "title",
  );

/** The numbers of epics, by their ids. */
async function iidsOf(db: Db, ids: readonly number[]): Promise<number[]> {
  const rows = await db.selectFrom("epics").select(["id", "iid"]).where("id", "in", ids).execute();
  const iids = new Map(rows.map(({ id, iid }) => [id, iid]));
  return ids.map((id) => iids.get(id) ?? 0);
}

/** An issue in a new project of each group. */
async function issuesIn(db: Db, groups: readonly Group[]): Promise<number[]> {
  const projects = await insertForIds(
    db,
    "projects",
    groups.map(({ id }) => project(id, { visibility: "private" })),
  );
  const rows = projects.map((project_id) => ({
    ...{ project_id, iid: 1, title: word(), state: "opened", issue_type: "issue", confidential: false },
    ...{ created_at: new Date().toISOString(), updated_at: new Date().toISOString() },
  }));
  return insertForIds(db, "issues", rows, "title");
}

type MakeOthers = (epicIds: readonly number[]) => Promise<number[]>;

const childrenIn =
  (db: Db, groups: readonly Group[]): MakeOthers =>
  (epicIds) =>
    insertEpics(db, groups, (index) => ({ parent_id: epicIds[index], relative_position: randomInt(1, MAX_IID) }));

const plannedIn =
  (db: Db, groups: readonly Group[]): MakeOthers =>
  async (epicIds) => {
    const issues = await issuesIn(db, groups);
    const rows = issues.map((issue_id, index) => ({
      ...{ issue_id, epic_id: epicIds[index], relative_position: randomInt(1, MAX_IID) },
    }));
    return insertForIds(db, "epic_issues", rows, "issue_id");
  };

/** The number of a new epic in each group, with the ids of what is made for it. */
async function withOthers(db: Db, groups: readonly Group[], ...makers: readonly MakeOthers[]) {
  const epicIds = await insertEpics(db, groups);
  const iids = await iidsOf(db, epicIds);
  const others: number[][] = [];
  for (const make of makers) others.push(await make(epicIds));
  return iids.map((iid, index) => [iid, ...others.map((ids) => ids[index] ?? 0)]);
}

export const contract: Contract = {
  lines: {
    "GET /groups/:id/epics": inGroup("viewer", 200, READ, { holds: "epic", inner: true }),
    "GET /groups/:id/epics/:epic_iid": inGroup("viewer", 200, READ, EPIC),
    "POST /groups/:id/epics": inGroup("planner", 201, WRITE, { ...READ_ONLY, ...UNAUDITED, send: "title=*" }),
    "PUT /groups/:id/epics/:epic_iid": inGroup("planner", 200, WRITE, {
      ...EPIC,
      ...READ_ONLY,
      ...UNAUDITED,
      send: "title=*",
    }),
    "DELETE /groups/:id/epics/:epic_iid": inGroup("planner", 204, WRITE, {
      ...EPIC,
      ...READ_ONLY,
      except: ["reporter", "developer", "maintainer"],
    }),
    "GET /groups/:id/epics/:epic_iid/epics": inGroup("viewer", 200, READ, { ...EPIC, child: "epic with child epics" }),
    "POST /groups/:id/epics/:epic_iid/epics": inGroup("planner", 201, WRITE, {
      ...EPIC,
      ...READ_ONLY,
      ...UNAUDITED,
      send: "title=*",
    }),
    "POST /groups/:id/epics/:epic_iid/epics/:child_epic_id": inGroup("planner", 201, WRITE, {
      ...EPIC,
      ...READ_ONLY,
      child: "lone epic",
    }),
    "PUT /groups/:id/epics/:epic_iid/epics/:child_epic_id": inGroup("planner", 200, WRITE, {
      ...EPIC,
      ...READ_ONLY,
      child: "ordered child epics",
      childBy: "move_before_id",
    }),
    "DELETE /groups/:id/epics/:epic_iid/epics/:child_epic_id": inGroup("planner", 200, WRITE, {
      ...EPIC,
      ...READ_ONLY,
      child: "child epic",
    }),
    "GET /groups/:id/epics/:epic_iid/issues": inGroup("viewer", 200, READ, { ...EPIC, child: "epic with issues" }),
    "POST /groups/:id/epics/:epic_iid/issues/:epic_issue_id": inGroup("planner", 201, WRITE, {
      ...EPIC,
      ...READ_ONLY,
      child: "issue to plan",
    }),
    "PUT /groups/:id/epics/:epic_iid/issues/:epic_issue_id": inGroup("planner", 200, WRITE, {
      ...EPIC,
      ...READ_ONLY,
      child: "ordered epic issues",
      childBy: "move_before_id",
    }),
    "DELETE /groups/:id/epics/:epic_iid/issues/:epic_issue_id": inGroup("planner", 200, WRITE, {
      ...EPIC,
      ...READ_ONLY,
      child: "epic issue",
    }),
  },
  tables: ["epics", "epic_counters", "epic_issues"],
  cascades: ["epic_counters.group_id"],
  differing: ["iid", "title", "relative_position"],
  plans: {
    // The group with the most epics, one of its subgroups, the author of some, and epics with children and issues.
    sample: `select g.group_id as largest, (select min(id) from namespaces where parent_id = g.group_id) as subgroup,
        (select author_id from epics where group_id = g.group_id order by id limit 1) as author,
        (select p.iid from epics p join epics c on c.parent_id = p.id where p.group_id = g.group_id
          group by p.id order by count(*) desc, p.id limit 1) as parent,
        (select e.iid from epics e where e.group_id = g.group_id
          order by (select count(*) from epic_issues l where l.epic_id = e.id) desc, e.id limit 1) as planned
      from (select group_id from epics group by group_id order by count(*) desc, group_id limit 1) g`,
    requests: ({ largest, subgroup, author, parent, planned }) => [
      ...list(`/groups/${largest}/epics`, {
        callers: ["member of the largest", "administrator"],
        orders: ["", "order_by=updated_at&sort=asc", "order_by=title"],
        places: PLACES,
      }),
      ...list(`/groups/${largest}/epics`, {
        callers: ["member of the largest", "administrator"],
        filters: [
          ...["include_descendant_groups=false", unskippable("state=opened"), unskippable("state=closed")],
          ...[unskippable("confidential=false"), any("confidential=true"), `author_id=${author}`, "iids[]=7"],
          ...[unskippable("labels=Bug"), unskippable("labels=None"), unskippable("labels=Any"), none("labels=Nothing")],
          ...[
            unskippable("not[labels]=Bug"),
            any("labels=Bug,Urgent"),
            none("search=nothing"),
            common("search=harbour"),
          ],
          ...["created_after=2021-01-05T00:00:00Z", "include_ancestor_groups=true", any("parent_id=1")],
        ],
        places: ["", "page=100&per_page=100", "pagination=keyset&per_page=100"],
      }),
      ...list(`/groups/${subgroup}/epics`, { filters: ["", "include_ancestor_groups=true"], places: FIRST }),
      ...list(`/groups/${largest}/epics/${parent}`, { places: FIRST }),
      ...list(`/groups/${largest}/epics/${parent}/epics`, { places: BY_OFFSET }),
      ...list(`/groups/${largest}/epics/${planned}/issues`, { filters: [any("")], places: BY_OFFSET }),
    ],
    indexes: ({ largest, parent }) => ({
      epics_of_group_by_created_at: `/groups/${largest}/epics?pagination=keyset&per_page=100`,
      epics_of_group_by_updated_at: `/groups/${largest}/epics?order_by=updated_at&sort=asc&pagination=keyset&per_page=100`,
      epics_of_group_by_title: `/groups/${largest}/epics?order_by=title&pagination=keyset&per_page=100`,
      epics_of_parent: `/groups/${largest}/epics/${parent}/epics`,
      label_links_of_epic: `/groups/${largest}/epics?labels=None`,
    }),
  },
  fixtures: {
    epic: {
      parents: ["group"],
      async make({ db }, parents) {
        return iidsOf(db, await insertEpics(db, parents));
      },
    },
    "lone epic": {
      parents: ["group"],
      make: ({ db }, parents) => withOthers(db, parents, () => insertEpics(db, parents)),
    },
    "epic with child epics": {
      parents: ["group"],
      async make({ db }, parents) {
        const made = await withOthers(db, parents, ...FEW.map(() => childrenIn(db, parents)));
        return made.map(([iid = 0]) => iid);
      },
    },
    "epic with issues": {
      parents: ["group"],
      async make({ db }, parents) {
        const made = await withOthers(db, parents, ...FEW.map(() => plannedIn(db, parents)));
        return made.map(([iid = 0]) => iid);
      },
    },
    "child epic": { parents: ["group"], make: ({ db }, parents) => withOthers(db, parents, childrenIn(db, parents)) },
    "ordered child epics": {
      parents: ["group"],
      make: ({ db }, parents) => withOthers(db, parents, childrenIn(db, parents), childrenIn(db, parents)),
    },
    "issue to plan": {
      parents: ["group"],
      make: ({ db }, parents) => withOthers(db, parents, () => issuesIn(db, parents)),
    },
    "epic issue": { parents: ["group"], make: ({ db }, parents) => withOthers(db, parents, plannedIn(db, parents)) },
    "ordered epic issues": {
      parents: ["group"],
      make: ({ db }, parents) => withOthers(db, parents, plannedIn(db, parents), plannedIn(db, parents)),
    },
  },
};
