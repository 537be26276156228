import { Agent } from "node:http";
import { join } from "node:path";
import { Client } from "pg";
import { encodeCursor } from "#http/cursor.ts";
import { type Figure, progress, table } from "./support/figures.ts";
import type { Options } from "./support/options.ts";
import { alternate, pageOf, type Times } from "./support/pages.ts";
import { startFairlead, temporaryDirectory } from "./support/processes.ts";
import { administratorToken, type Engine, query, seededEngine, userToken } from "./support/seeded.ts";
import { pageStatement, statementsOf } from "./support/statements.ts";

const ORDERS = ["id", "name", "username", "created_at", "updated_at"] as const;
const CALLERS = [
  ["administrator", administratorToken],
  ["user", userToken(1)],
] as const;
const PER_PAGE = 20;

/** The cost of a page nine tenths down the list compared with the first, in each order and for both kinds of caller. */
export async function keyset({ users, rounds }: Options): Promise<Figure[]> {
  await using engine = await seededEngine(users);
  using dir = temporaryDirectory();
  await using server = await startFairlead(dir.path, {
    FAIRLEAD_DATABASE_URL: engine.url,
    FAIRLEAD_DATA_DIR: join(dir.path, "data"),
    FAIRLEAD_RATE_LIMIT_USER: "1000000000",
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const rows: { name: string; caller: string; http: Times; sql: Times }[] = [];
  for (const order of ORDERS) {
    const { cursor, id } = await cursorAt(engine, order, Math.floor(users * 0.9));
    const page = `${server.url}/api/v4/users?pagination=keyset&order_by=${order}&sort=desc&per_page=${PER_PAGE}`;
    for (const [caller, token] of CALLERS) {
      progress(`order by ${order}, as ${caller}`);
      const first = () => pageOf<{ id: number }>(agent, page, token, PER_PAGE);
      const deep = () => pageOf<{ id: number }>(agent, `${page}&cursor=${cursor}`, token, PER_PAGE);
      const found = (await deep())[0]?.id;
      if (found !== id) throw new Error(`The deep page by ${order} starts with user ${found}, not ${id}`);
      rows.push({
        name: order,
        caller,
        http: await alternate(first, deep, rounds),
        sql: await alternateInSql(engine, first, deep, rounds),
      });
    }
  }
  agent.destroy();
  console.log(
    table(
      ["order", "caller", "first ms", "deep ms", "ratio", "SQL first ms", "SQL deep ms", "SQL ratio"],
      rows.map(({ name, caller, http, sql }) => [
        name,
        caller,
        http.first,
        http.deep,
        http.ratio,
        sql.first,
        sql.deep,
        sql.ratio,
      ]),
    ),
  );
  const worst = (times: readonly Times[]) => Math.max(...times.map(({ ratio }) => ratio));
  return [
    { about: "of the first page at worst", value: worst(rows.map(({ http }) => http)), bound: "at most", goal: 2 },
    { about: "in SQL alone", value: worst(rows.map(({ sql }) => sql)), bound: "at most", goal: 2 },
  ];
}

/** The cursor before the row at a depth, and the id of that row. */
async function cursorAt(engine: Engine, order: (typeof ORDERS)[number], depth: number) {
  const value = order.endsWith("_at")
    ? `to_char(${order} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
    : `${order}::${order === "id" ? "int" : "text"}`;
  const { rows } = await query<{ id: number; value: string | number }>(
    engine.url,
    `select id::int, ${value} as value from users
     order by users.${order} desc, users.id desc offset ${depth - 1} limit 2`,
  );
  const [before, row] = rows;
  if (!before || !row) throw new Error(`There is no user at depth ${depth}`);
  return { cursor: encodeCursor(order, "desc", before), id: row.id };
}

/** The same two pages in PostgreSQL alone, by the statements of the product. */
async function alternateInSql(
  engine: Engine,
  first: () => Promise<unknown>,
  deep: () => Promise<unknown>,
  rounds: number,
): Promise<Times> {
  const db = new Client(engine.url);
  await db.connect();
  const prepared = async (page: () => Promise<unknown>, name: string) => {
    const { text, values } = pageStatement(await statementsOf(engine, page));
    return () => db.query({ name, text, values: [...values] });
  };
  try {
    return await alternate(await prepared(first, "first"), await prepared(deep, "deep"), rounds);
  } finally {
    await db.end();
  }
}
