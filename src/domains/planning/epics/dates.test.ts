import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import type { Db } from "#db/database.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { type EpicGroup, epicsOn } from "./test-support.ts";

type Day = string | null;
interface Dates {
  readonly start: Day;
  readonly due: Day;
}
interface IssueModel extends Dates {
  readonly isHidden: boolean;
}
interface Side {
  readonly isFixed: boolean;
  readonly date: Day;
}
interface EpicModel {
  readonly start: Side;
  readonly due: Side;
  readonly isHidden: boolean;
  readonly children: EpicModel[];
  readonly issues: IssueModel[];
}

const day = fc.option(
  fc.integer({ min: 0, max: 400 }).map((days) => new Date(Date.UTC(2030, 0, 1 + days)).toISOString().slice(0, 10)),
  { freq: 3 },
);
const side: fc.Arbitrary<Side> = fc.record({ isFixed: fc.boolean(), date: day });
const issueModel: fc.Arbitrary<IssueModel> = fc
  .record({ isHidden: fc.boolean(), start: day, due: day })
  .map(({ start, due, ...rest }) => ({
    ...rest,
    start: start !== null && due !== null && start > due ? due : start,
    due,
  }));

/** A tree of at most seven levels and fewer epics than fit on a page. */
const epicModel = (level = 1): fc.Arbitrary<EpicModel> =>
  fc.record({
    start: side,
    due: side,
    isHidden: level === 1 ? fc.constant(false) : fc.boolean(),
    issues: fc.array(issueModel, { maxLength: 2 }),
    children: level === 7 ? fc.constant([]) : fc.array(epicModel(level + 1), { maxLength: level < 3 ? 3 : 1 }),
  });

/** The plain model: what an epic inherits is the first and the last day of what is in it and can be seen. */
function inherited(epic: EpicModel, seesAll: boolean): Dates {
  const within = [
    ...epic.issues.filter(({ isHidden }) => seesAll || !isHidden),
    ...epic.children.filter(({ isHidden }) => seesAll || !isHidden).map((child) => effective(child, seesAll)),
  ];
  const days = (side: "start" | "due") => within.flatMap((each) => each[side] ?? []).toSorted();
  return { start: days("start")[0] ?? null, due: days("due").at(-1) ?? null };
}

function effective(epic: EpicModel, seesAll: boolean): Dates {
  const from = inherited(epic, seesAll);
  return {
    start: epic.start.isFixed ? epic.start.date : from.start,
    due: epic.due.isFixed ? epic.due.date : from.due,
  };
}

describe("the dates of epics", () => {
  let app: TestApp;
  let on: ReturnType<typeof epicsOn>;
  before(async () => {
    app = await testApp();
    on = epicsOn(app);
  });
  after(() => app.close());

  test("fixed dates count if they are said to, else those of the children", async () => {
    const group = await on.epicGroup();
    const dates = { start_date_fixed: "2030-01-01", due_date_fixed: "2030-12-31" };
    const { id, iid } = await on.created(group, { ...dates, start_date_is_fixed: true });
    const fixed = (await on.get(group, iid)).body;
    assert.deepEqual([fixed.start_date, fixed.due_date, fixed.end_date], ["2030-01-01", null, null]);
    await on.created(group, { parent_id: id, ...dates, start_date_is_fixed: true, due_date_is_fixed: true });
    await on.put(group, iid, { start_date_is_fixed: false });
    const { body } = await on.get(group, iid);
    assert.deepEqual([body.start_date, body.due_date, body.end_date], ["2030-01-01", "2030-12-31", "2030-12-31"]);
    assert.deepEqual(
      [body.start_date_from_inherited_source, body.due_date_from_inherited_source],
      ["2030-01-01", "2030-12-31"],
    );
    assert.deepEqual([body.start_date_from_milestones, body.due_date_from_milestones], [null, null]);
  });

  /** Stores a tree and returns its models by the ids of the epics. */
  async function plant(db: Db, groupId: number, projectId: number, tree: EpicModel): Promise<Map<number, EpicModel>> {
    const models = new Map<number, EpicModel>();
    let iid = 0;
    const store = async (model: EpicModel, parentId: number | null) => {
      const row = {
        ...{ group_id: groupId, iid: ++iid, parent_id: parentId, title: "x", confidential: model.isHidden },
        ...{ start_date_fixed: model.start.date, start_date_is_fixed: model.start.isFixed },
        ...{ due_date_fixed: model.due.date, due_date_is_fixed: model.due.isFixed },
      };
      const { id } = await db.insertInto("epics").values(row).returning("id").executeTakeFirstOrThrow();
      models.set(id, model);
      for (const { isHidden, start, due } of model.issues) {
        const issue = { project_id: projectId, iid: ++iid, title: "x", confidential: isHidden };
        const made = await db
          .insertInto("issues")
          .values({ ...issue, start_date: start, due_date: due })
          .returning("id")
          .executeTakeFirstOrThrow();
        await db.insertInto("epic_issues").values({ epic_id: id, issue_id: made.id, relative_position: iid }).execute();
      }
      for (const child of model.children) await store(child, id);
    };
    await store(tree, null);
    return models;
  }

  async function assertDates(
    group: EpicGroup,
    user: TestUser,
    models: ReadonlyMap<number, EpicModel>,
    seesAll: boolean,
  ) {
    const { body } = await on.list(group, "per_page=100", user);
    assert.equal(body.length, [...models.values()].filter(({ isHidden }) => seesAll || !isHidden).length);
    for (const view of body) {
      const model = models.get(view.id)!;
      const [shown, from] = [effective(model, seesAll), inherited(model, seesAll)];
      assert.deepEqual(
        [view.start_date, view.due_date, view.start_date_from_inherited_source, view.due_date_from_inherited_source],
        [shown.start, shown.due, from.start, from.due],
      );
    }
  }

  test("inherited dates are those of a plain model, for who sees all and for who does not", async () => {
    await fc.assert(
      fc.asyncProperty(epicModel(), async (tree) => {
        const group = await on.epicGroup();
        const guest = await on.inRole(group, "guest");
        const models = await plant(app.services.db.write, group.id, await on.project(group.id), tree);
        await assertDates(group, group.owner, models, true);
        await assertDates(group, guest, models, false);
      }),
      { numRuns: 40 },
    );
  });
});
