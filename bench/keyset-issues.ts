import { Agent } from "node:http";
import { join } from "node:path";
import { encodeCursor } from "#http/cursor.ts";
import { type Figure, progress, table } from "./support/figures.ts";
import type { Options } from "./support/options.ts";
import { alternate, pageOf } from "./support/pages.ts";
import { startFairlead, temporaryDirectory } from "./support/processes.ts";
import { administratorToken, memberToken, query, seededEngine } from "./support/seeded.ts";

const PAGE = 500;
const PER_PAGE = 100;
const ORDERS = ["created_at", "updated_at"] as const;

/** An issue or an epic. */
type Item = Readonly<Record<(typeof ORDERS)[number], string> & { id: number }>;

/** The cost of page 500 of the largest lists of issues and epics compared with the first. */
export async function keysetOfIssues({ users, projects, tokens, issues, rounds }: Options): Promise<Figure[]> {
  await using engine = await seededEngine(users, projects, tokens, issues);
  using dir = temporaryDirectory();
  await using server = await startFairlead(dir.path, {
    FAIRLEAD_DATABASE_URL: engine.url,
    FAIRLEAD_DATA_DIR: join(dir.path, "data"),
    FAIRLEAD_RATE_LIMIT_USER: "1000000000",
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const rows: [list: string, caller: string, order: string, first: number, deep: number, ratio: number][] = [];
  for (const { path, caller, token } of await largestLists(engine.url)) {
    for (const order of ORDERS) {
      progress(`${path} by ${order}, as ${caller}`);
      const list = `${server.url}/api/v4${path}${path.includes("?") ? "&" : "?"}order_by=${order}&per_page=${PER_PAGE}`;
      const read = (more: string) => pageOf<Item>(agent, `${list}&${more}`, token, PER_PAGE);
      const before = (await read(`page=${PAGE - 1}`)).at(-1)!;
      const cursor = encodeCursor(order, "desc", { id: before.id, value: before[order] });
      const first = () => read("pagination=keyset");
      const deep = () => read(`pagination=keyset&cursor=${cursor}`);
      const [found, wanted] = [(await deep())[0]?.id, (await read(`page=${PAGE}`))[0]?.id];
      if (found !== wanted) throw new Error(`The deep page of ${path} starts with ${found}, not ${wanted}`);
      const times = await alternate(first, deep, rounds);
      rows.push([path, caller, order, times.first, times.deep, times.ratio]);
    }
  }
  agent.destroy();
  console.log(table(["list", "caller", "order", "first ms", "deep ms", "ratio"], rows));
  const value = Math.max(...rows.map((row) => row[5]));
  return [{ about: "of the first page at worst", value, bound: "at most", goal: 2 }];
}

async function largestLists(url: string) {
  const { rows } = await query<{ project: number; group: number }>(
    url,
    `select (select project_id from issues group by 1 order by count(*) desc limit 1)::int as project,
      (select group_id from epics group by 1 order by count(*) desc limit 1)::int as "group"`,
  );
  const { project, group } = rows[0]!;
  const administrator = { caller: "administrator", token: administratorToken };
  const member = { caller: "member", token: memberToken(2) };
  const ofProject = [`/projects/${project}/issues`, `/projects/${project}/issues?state=opened`];
  const others = [`/groups/${group}/issues`, `/groups/${group}/epics`, "/issues?scope=all"];
  return [
    ...[...ofProject, ...others].map((path) => ({ path, ...administrator })),
    // The project is not the member's.
    ...others.map((path) => ({ path, ...member })),
  ];
}
