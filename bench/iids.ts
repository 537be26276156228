import { randomBytes } from "node:crypto";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { Client } from "pg";
import { startServer } from "#db/server.ts";
import { type Figure, median, progress, table } from "./support/figures.ts";
import type { Options } from "./support/options.ts";
import { startFairlead, temporaryDirectory } from "./support/processes.ts";

const WRITERS = 50;

/** Issues that 50 writers create in one project over HTTP, beside the bare counter that 50 connections increase. */
export async function iids({ rounds, seconds }: Options): Promise<Figure[]> {
  using dir = temporaryDirectory();
  const engine = await startServer({ dataDir: join(dir.path, "postgres") });
  try {
    const token = `flpat-${randomBytes(24).toString("base64url")}`;
    await using server = await startFairlead(dir.path, {
      FAIRLEAD_DATABASE_URL: engine.url,
      FAIRLEAD_DATA_DIR: join(dir.path, "data"),
      FAIRLEAD_RATE_LIMITS: "off",
      FAIRLEAD_ROOT_TOKEN: token,
    });
    const agent = new Agent({ keepAlive: true, maxSockets: WRITERS });
    const post = (path: string, body: object) => send(agent, `${server.url}/api/v4${path}`, token, body);
    const { id } = await post("/projects", { name: "Counted" });
    await using bare = await bareCounter(engine.url);
    const create = async () => void (await post(`/projects/${id}/issues`, { title: "Numbered" }));
    await create();
    const measured: { bare: number; ours: number }[] = [];
    while (measured.length < rounds) {
      progress(`round ${measured.length + 1} of ${rounds}`);
      measured.push({ bare: await rateOf(bare.increase, seconds), ours: await rateOf(create, seconds) });
    }
    agent.destroy();
    await checkNumbers(engine.url, id);
    const rate = (of: "bare" | "ours") => median(measured.map((round) => round[of]));
    const ratio = median(measured.map(({ bare: one, ours }) => ours / one));
    console.log(
      table(
        [`${WRITERS} writers, a second`, "bare counter", "issues", "ratio"],
        [["", rate("bare"), rate("ours"), ratio]],
      ),
    );
    return [{ about: "of the bare counter's rate", value: ratio, bound: "at least", goal: 0.4 }];
  } finally {
    await engine.stop();
  }
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

function send(agent: Agent, url: string, token: string, body: object): Promise<{ id: number }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ id: number }>();
  const headers = { "private-token": token, "content-type": "application/json" };
  const sent = request(url, { method: "POST", agent, headers }, (response) => {
    const chunks: Buffer[] = [];
    response.on("data", (chunk: Buffer) => chunks.push(chunk));
    response.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      if (response.statusCode === 201) resolve(JSON.parse(text));
      else reject(new Error(`${response.statusCode} ${text}`));
    });
  });
  sent.on("error", reject);
  sent.end(JSON.stringify(body));
  return promise;
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
