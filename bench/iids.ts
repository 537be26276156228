import assert from "node:assert/strict";
import { join } from "node:path";
import { sql } from "kysely";
import { Client } from "pg";
import pino from "pino";
import { actingUserByIdOrName } from "#access/acting-users.ts";
import { visibleProject } from "#access/containers.ts";
import { readConfig } from "#config.ts";
import type { Databases } from "#db/database.ts";
import { migrate } from "#db/migrate.ts";
import { startServer } from "#db/server.ts";
import { createIssue } from "#domains/planning/issues/new-issue.ts";
import { openServices } from "#services.ts";
import { type Figure, median, progress, table } from "./support/figures.ts";
import type { Options } from "./support/options.ts";
import { temporaryDirectory } from "./support/processes.ts";

const WRITERS = 50;

/**
 * Issues that 50 writers create in one project as a request does once it is authorized, beside the bare counter that 50
 * connections increase.
 */
export async function iids({ rounds, seconds }: Options): Promise<Figure[]> {
  using dir = temporaryDirectory();
  const engine = await startServer({ dataDir: join(dir.path, "postgres") });
  try {
    await migrate(engine.url);
    const services = openServices(
      readConfig({ FAIRLEAD_DATA_DIR: join(dir.path, "data") }),
      engine.url,
      pino({ enabled: false }),
    );
    const { actor, project } = await ownerOfProject(services.db);
    await using bare = await bareCounter(engine.url);
    const unaudited = { actsForAnother: false, auditEntry: () => assert.fail("nobody acts for another") };
    const request = { databases: services.db, services, actor, project, site: "http://localhost", ignored: () => {} };
    const context = { ...request, ...unaudited };
    const create = async () => void (await createIssue(context, { id: String(project.id), title: "Numbered" }));
    const measured: { bare: number; ours: number }[] = [];
    while (measured.length < rounds) {
      progress(`round ${measured.length + 1} of ${rounds}`);
      measured.push({ bare: await rateOf(bare.increase, seconds), ours: await rateOf(create, seconds) });
    }
    await services.close();
    await checkNumbers(engine.url, project.id);
    const rate = (of: "bare" | "ours") => median(measured.map((round) => round[of]));
    const ratio = median(measured.map(({ bare: one, ours }) => ours / one));
    console.log(
      table(
        [`${WRITERS} writers`, "bare counter", "issues", "ratio"],
        [["a second", rate("bare"), rate("ours"), ratio]],
      ),
    );
    return [{ about: "of the bare counter's rate", value: ratio, bound: "at least", goal: 0.4 }];
  } finally {
    await engine.stop();
  }
}

/** An account with a project in its personal namespace. */
async function ownerOfProject(db: Databases) {
  const { rows } = await sql<{ user_id: number; project_id: number }>`
    with place as (insert into namespaces (path, name) values ('writer', 'Writer') returning id),
      account as (
        insert into users (username, name, email, namespace_id, confirmed_at)
        select 'writer', 'Writer', 'writer@example.com', id, now() from place returning id),
      made as (
        insert into projects (namespace_id, name, path, visibility) select id, 'Counted', 'counted', 0 from place
        returning id),
      owner as (
        insert into members (user_id, project_id, access_level) select account.id, made.id, 50 from account, made)
    select account.id as user_id, made.id as project_id from account, made`.execute(db.write);
  const [{ user_id, project_id } = { user_id: 0, project_id: 0 }] = rows;
  const user = await actingUserByIdOrName(db, String(user_id));
  if (!user) throw new Error("There is no account");
  const actor = { kind: "user by job", user } as const;
  const project = await visibleProject(db, actor, project_id);
  if (!project) throw new Error("There is no project");
  return { actor, project };
}

/** How often a second so many callers at once get something done; each is told its number. */
async function rateOf(work: (writer: number) => Promise<void>, seconds: number): Promise<number> {
  const began = performance.now();
  const end = began + seconds * 1000;
  let done = 0;
  const write = async (_: unknown, writer: number) => {
    while (performance.now() < end) {
      await work(writer);
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  return done / ((performance.now() - began) / 1000);
}

/** A table with one counter, and a connection for each writer. */
async function bareCounter(url: string) {
  const clients = Array.from({ length: WRITERS }, () => new Client(url));
  for (const client of clients) await client.connect();
  await clients[0]?.query("create table bare_counter (id int primary key, last int) with (fillfactor = 50)");
  await clients[0]?.query("insert into bare_counter values (1, 0)");
  const statement = { name: "next", text: "update bare_counter set last = last + 1 where id = $1 returning last" };
  return {
    increase: async (writer: number) => void (await clients[writer]?.query({ ...statement, values: [1] })),
    async [Symbol.asyncDispose]() {
      for (const client of clients) await client.end();
    },
  };
}

/** The numbers of a project's issues must be unique and without gaps. */
async function checkNumbers(url: string, projectId: number) {
  const client = new Client(url);
  await client.connect();
  const { rows } = await client.query(
    "select count(distinct iid)::int as distinct, count(*)::int as all, max(iid) as last from issues where project_id = $1",
    [projectId],
  );
  await client.end();
  const [{ distinct, all, last }] = rows;
  if (distinct !== all || last !== all) throw new Error(`${all} issues have ${distinct} numbers up to ${last}`);
}
