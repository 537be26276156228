import { sql } from "kysely";
import { testApp } from "#test/support/app.ts";
import type { Outcome } from "#test/support/campaign.ts";
import { hasCircle, type Link } from "./model.ts";
import { randomOf } from "#test/support/random.ts";
import {
  closingWrites,
  leaksIn,
  problemsOfWrites,
  readProblems,
  type Send,
  sendWrite,
  someWrites,
} from "./requests.ts";
import { type Caller, type Item, makeWorld, type Container } from "./world.ts";

const VISIBILITY = { private: 0, internal: 10, public: 20 } as const;
const READS_A_ROUND = 8;

/** Sends so many requests to a server of its own, or fewer if one is answered wrong. */
export async function runSession(databaseUrl: string, seed: number, steps: number): Promise<Outcome> {
  const app = await testApp({ databaseUrl });
  const site = await app.app.listen({ port: 0, host: "127.0.0.1" });
  const random = randomOf(seed);
  const world = await makeWorld(app, random);
  const tally = { requests: 0, writes: 0 };

  const send: Send = async (method, path, caller, payload) => {
    tally.requests++;
    const reply = await fetch(`${site}/api/v4${path}`, {
      method,
      headers: {
        ...(caller.user && { "private-token": caller.user.token }),
        ...(payload && { "content-type": "application/json" }),
      },
      ...(payload && { body: JSON.stringify(payload) }),
    });
    const text = await reply.text();
    return {
      status: reply.status,
      total: reply.headers.get("x-total"),
      text,
      body: text ? JSON.parse(text) : undefined,
    };
  };

  async function round(): Promise<string[]> {
    const before = await storedLinks();
    const closing = random.chance(0.3) ? closingWrites(random, world, before) : [];
    const writes = closing.length > 0 ? closing : someWrites(random, world, before);
    await Promise.all(writes.map((write) => sendWrite(send, write)));
    tally.writes += writes.length;
    const after = await storedLinks();
    const leaked = writes.flatMap(({ caller, answer, item }) =>
      leaksIn(world, caller, answer?.text ?? "").map((leak) => `a write on ${item.path} shows ${leak}`),
    );
    const reads = await Promise.all(
      Array.from({ length: READS_A_ROUND }, () => readProblems(send, random, world, after)),
    );
    return [...problemsOfWrites(writes, before, after), ...leaked, ...invariantProblems(after), ...reads.flat()];
  }

  async function storedLinks(): Promise<Link[]> {
    const items = new Map(world.items.map((item) => [item.id, item]));
    const { rows } = await sql<{ id: number; source_id: number; target_id: number; link_type: Link["type"] }>`
      select id, source_id, target_id, link_type from issue_links
      union all select id, source_id, target_id, link_type from epic_links order by id`.execute(app.services.db.write);
    return rows.map(({ id, source_id, target_id, link_type: type }) => {
      const [source, target] = [items.get(source_id), items.get(target_id)];
      if (!source || !target) throw new Error(`link ${id} has an end that nobody made`);
      return { id, source, target, type };
    });
  }

  /** Hides or shows something. */
  async function change() {
    if (random.chance(0.5)) return changeItem(random.pick(world.items));
    return changeContainer(random.pick(world.places));
  }

  async function changeItem(item: Item) {
    item.confidential = !item.confidential;
    const admin = world.callers.find((caller) => caller.admin) as Caller;
    // Nobody can use the API of a project without issues.
    if (item.kind === "issue" && item.place.issues === "disabled") {
      await sql`update ${sql.table(`${item.kind}s`)} set confidential = ${item.confidential} where id = ${item.id}`.execute(
        app.services.db.write,
      );
      return;
    }
    const answer = await send("PUT", item.path, admin, { confidential: item.confidential });
    if (answer.status !== 200) throw new Error(`could not change ${item.path}: ${answer.status} ${answer.text}`);
  }

  async function changeContainer(place: Container) {
    const { write } = app.services.db;
    if (place.kind === "issue" && random.chance(0.4)) {
      place.issues = random.pick(["disabled", "private", "enabled", "enabled"] as const);
      await write
        .updateTable("projects")
        .set({ issues_access_level: place.issues })
        .where("id", "=", place.id)
        .execute();
      return;
    }
    place.visibility = random.pick(["private", "private", "internal", "public"] as const);
    const table = place.kind === "issue" ? "projects" : "namespaces";
    await write
      .updateTable(table)
      .set({ visibility: VISIBILITY[place.visibility] })
      .where("id", "=", place.id)
      .execute();
  }

  try {
    const problems: string[] = [];
    while (tally.requests < steps && problems.length === 0) {
      problems.push(...(await round()));
      if (random.chance(0.5)) await change();
    }
    return { ...tally, problems };
  } finally {
    await app.close();
  }
}

/** What must be true of the stored links at any time. */
function invariantProblems(links: readonly Link[]): string[] {
  const pairs = links.map(({ source, target }) => [source.id, target.id].toSorted((a, b) => a - b).join("-"));
  return [
    ...(new Set(pairs).size < pairs.length ? ["two items have two links"] : []),
    ...(hasCircle(links) ? ["links that block form a circle"] : []),
  ];
}
