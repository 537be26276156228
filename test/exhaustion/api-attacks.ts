import { randomUUID } from "node:crypto";
import { type Attack, flood } from "./attack.ts";
import type { Fixture } from "./fixture.ts";
import { hostileApi } from "./hostile-clients.ts";

const LEVELS = 18;
const LABELS_AT_ONCE = 100;
const LABELLING_ROUNDS = 11;
const LABELLED_ISSUES = 30;
const LONG = 890_000;
/** Escaped, it just fits into a body. */
const LONG_NOTE = 690_000;
const SUBGROUPS = 10_000;
const FILTER_NAMES = 20;
const MANY_ISSUES = 50_000;

const word = () => `w${randomUUID().slice(0, 12)}`;
const repeated = (part: string) => part.repeat(Math.floor(LONG_NOTE / part.length));

/** A new public project of the attacker. */
async function makeTarget({ installation, attacker }: Fixture): Promise<number> {
  const body = { name: word(), visibility: "public" };
  return (await installation.call<{ id: number }>("POST", "/projects", { token: attacker.token, body })).id;
}

/** Inserts issues of a project; `n` numbers them. */
const insertIssues = ({ installation }: Fixture, project: number, count: number, description: string) =>
  installation.query(
    `insert into issues (project_id, iid, title, description)
     select $1, n, 'Issue ' || n, ${description} from generate_series(1, $2::integer) n`,
    [project, count],
  );

/** Attacks by what anybody may write over the API, and by what it costs to read. */
export const API_ATTACKS: readonly Attack[] = [
  {
    name: "a path with many places",
    async run(fixture, deadline) {
      const path = await pathWithManyPlaces(fixture);
      return flood(fixture, [`/groups/${encodeURIComponent(path)}`], 6, deadline);
    },
  },
  {
    name: "labels of an item",
    async run(fixture, deadline) {
      const project = await makeTarget(fixture);
      await insertIssues(fixture, project, LABELLED_ISSUES, "null");
      await addLabels(fixture, project);
      return flood(fixture, [`/projects/${project}/issues?with_labels_details=true&per_page=100`], 4, deadline);
    },
  },
  {
    name: "tasks in long descriptions",
    async run(fixture, deadline) {
      const project = await makeTarget(fixture);
      // As they were stored before tasks were counted.
      await insertIssues(fixture, project, 9, `repeat(E'- [ ] \\n', ${LONG} / 7)`);
      return flood(fixture, [`/projects/${project}/issues`], 4, deadline);
    },
  },
  {
    name: "long descriptions",
    async run(fixture, deadline) {
      const project = await makeTarget(fixture);
      await insertIssues(fixture, project, 100, `repeat('x', ${LONG})`);
      return flood(fixture, [`/projects/${project}/issues?per_page=100`], 4, deadline);
    },
  },
  {
    name: "mentions in long notes",
    async run(fixture, deadline) {
      const { token } = fixture.attacker;
      const project = await makeTarget(fixture);
      await insertIssues(fixture, project, 1, "null");
      const note = { path: `/projects/${project}/issues/1/notes`, method: "POST", token };
      return flood(
        fixture,
        ["@\n", "@a-", "` @"].map((part) => ({ ...note, body: { body: repeated(part) } })),
        4,
        deadline,
      );
    },
  },
  {
    name: "lists of names",
    async run(fixture, deadline) {
      const { token } = fixture.attacker;
      const project = await makeTarget(fixture);
      await insertIssues(fixture, project, 1, "null");
      const names = Array.from({ length: 6_300 }, (_, n) => n.toString(36)).join();
      const change = { path: `/projects/${project}/issues/1`, method: "PUT", token, body: { labels: [names] } };
      return flood(fixture, [change], 4, deadline);
    },
  },
  {
    name: "issues created at once",
    async run(fixture, deadline) {
      const { token, id } = fixture.attacker;
      const project = await makeTarget(fixture);
      const body = { title: "One of many", labels: "a,b,c", assignee_ids: [id] };
      return flood(fixture, [{ path: `/projects/${project}/issues`, method: "POST", token, body }], 32, deadline);
    },
  },
  {
    name: "costly filters",
    async run(fixture, deadline) {
      const group = await makeGroupOfManyLabels(fixture);
      const names = Array.from({ length: FILTER_NAMES }, (_, n) => `not[labels][]=l${n + 1}`).join("&");
      const path = `/groups/${group}/issues?${names}&order_by=title`;
      const { token } = fixture.attacker;
      return flood(fixture, [{ path }, { path, token }], 40, deadline);
    },
  },
];

/** A group with thousands of subgroups, each of which has labels of the same names, and with many issues. */
async function makeGroupOfManyLabels({ installation, attacker: { token } }: Fixture): Promise<number> {
  const make = (path: string, body: object) =>
    installation.call<{ id: number }>("POST", path, { token, body: { name: word(), visibility: "public", ...body } });
  const group = await make("/groups", { path: word() });
  const project = await make("/projects", { namespace_id: group.id });
  await installation.query(
    `with subgroups as (
       insert into namespaces (kind, name, path, parent_id, visibility)
       select 'group', 'g', 'g' || n, $1, 20 from generate_series(1, ${SUBGROUPS}) n returning id
     )
     insert into labels (group_id, name, color)
     select id, 'l' || n, '#aabbcc' from subgroups, generate_series(1, ${FILTER_NAMES}) n`,
    [group.id],
  );
  await installation.query(
    `insert into issues (project_id, iid, title) select $1, n, md5(n::text) from generate_series(1, ${MANY_ISSUES}) n`,
    [project.id],
  );
  await installation.query("analyze");
  return group.id;
}

/** The path below groups of which two on each level took each other's places. */
async function pathWithManyPlaces({ installation }: Fixture): Promise<string> {
  const root = word();
  const groups = await installation.query<{ id: number }>(
    `insert into namespaces (kind, name, path, visibility)
     select 'group', 'g', 'g' || gen_random_uuid(), 20 from generate_series(1, ${2 * LEVELS + 1}) returning id`,
  );
  const ids = groups.map(({ id }) => id);
  const routes: [parent: number, path: string, to: number, moved: boolean][] = [[0, root, ids[0] ?? 0, false]];
  let parents = ids.slice(0, 1);
  for (let level = 0; level < LEVELS; level++) {
    const pair = ids.slice(2 * level + 1, 2 * level + 3);
    for (const [index, parent] of parents.entries())
      for (const [order, to] of pair.entries()) routes.push([parent, "x", to, order !== index]);
    parents = pair;
  }
  await installation.query(
    `insert into routes (parent_id, path, namespace_id, moved)
     select * from unnest($1::bigint[], $2::text[], $3::bigint[], $4::boolean[])`,
    [0, 1, 2, 3].map((column) => routes.map((route) => route[column])),
  );
  return [root, ...Array.from({ length: LEVELS }, () => "x")].join("/");
}

/** Adds as many labels to each issue of a project as it takes. */
async function addLabels(fixture: Fixture, project: number) {
  const api = hostileApi(fixture);
  const { token } = fixture.attacker;
  for (let iid = 1; iid <= LABELLED_ISSUES; iid++) {
    for (let round = 0; round < LABELLING_ROUNDS; round++) {
      const names = Array.from({ length: LABELS_AT_ONCE }, (_, n) => `label ${round} ${n}`.padEnd(200, "x"));
      const body = { add_labels: names };
      const { status } = await api.send({ path: `/projects/${project}/issues/${iid}`, method: "PUT", token, body });
      if (status >= 300) break;
    }
  }
  api.close();
}
