import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Cluster } from "#test/faults/cluster.ts";
import type { Fault } from "#test/faults/fault.ts";
import {
  answersAreHonest,
  everyChangeIsAudited,
  nothingIsLeftOpen,
  revokedTokensAreRefused,
  storageIsSound,
  treeIsSound,
} from "#test/faults/invariants.ts";
import { newJournal } from "#test/faults/journal.ts";
import { rounds } from "#test/faults/rounds.ts";
import { underTraffic } from "#test/faults/traffic.ts";

/** Without a fault nothing is found; then each invariant has to find a planted breach of itself. */
export const none: Fault = {
  name: "none",
  run: (cluster) =>
    rounds(cluster, 1, cluster.webs, async () => {
      await sleep(500);
      return 0;
    }),
  controls: [
    {
      name: "a revoked token that is valid again",
      sees: /answers 200/,
      async run(cluster) {
        const journal = newJournal();
        await underTraffic(cluster, cluster.webs, journal, () => sleep(200));
        await cluster.engine.query("update personal_access_tokens set revoked_at = null where name like $1", [
          `${journal.label}%`,
        ]);
        return revokedTokensAreRefused(cluster, journal);
      },
    },
    {
      name: "a change without an audit event",
      sees: /1 rows, 0 events/,
      async run(cluster) {
        const journal = newJournal();
        await cluster.engine.query(
          `insert into personal_access_tokens (user_id, name, scopes, token_digest)
           select min(id), $1, '{}', sha256($2::text::bytea) from users`,
          [journal.label, randomUUID()],
        );
        return everyChangeIsAudited(cluster, journal);
      },
    },
    {
      name: "an answer with 500",
      sees: /1 answers with 500/,
      run: (cluster) => answersAreHonest(cluster, { ...newJournal(), answers: new Map([[500, 1]]) }),
    },
    {
      name: "a process that does not come back",
      sees: /ended by itself/,
      async run({ webs: [web] }) {
        await web.kill();
        const problems = await web.ready().then(
          () => [],
          (error: Error) => [error.message.replace(/\n.*/s, "")],
        );
        web.start();
        await web.ready();
        return problems;
      },
    },
    {
      name: "a namespace under a wrong parent",
      sees: /not below its parent/,
      run: (cluster) =>
        damaged(
          cluster,
          "update namespaces set traversal_ids = array[0, id] where id = (select max(id) from namespaces)",
          "update namespaces set traversal_ids = array[id] where id = (select max(id) from namespaces)",
          treeIsSound,
        ),
    },
    {
      name: "a namespace without a path",
      sees: /has 0 paths/,
      run: (cluster) =>
        damaged(
          cluster,
          "update routes set moved = true where namespace_id = (select max(id) from namespaces)",
          "update routes set moved = false where namespace_id = (select max(id) from namespaces)",
          treeIsSound,
        ),
    },
    {
      name: "a transaction, a lock and a connection of a process that is dead",
      sees: /idles in a transaction.*holds the advisory lock.*has 1 connections/,
      async run(cluster) {
        const client = new pg.Client({ connectionString: cluster.engine.url, application_name: "web-0" });
        await client.connect();
        try {
          await client.query("begin; select pg_advisory_lock(1)");
          return [(await nothingIsLeftOpen(cluster)).join(", ")];
        } finally {
          await client.end();
        }
      },
    },
    {
      name: "an index that disagrees with its table",
      sees: /item order invariant violated/,
      run: (cluster) =>
        damaged(cluster, DAMAGED_INDEX, "drop table damaged; drop function damaged_order cascade", storageIsSound),
    },
  ],
};

async function damaged(
  cluster: Cluster,
  damage: string,
  repair: string,
  look: (cluster: Cluster) => Promise<string[]>,
): Promise<string[]> {
  await cluster.engine.query(damage);
  try {
    return await look(cluster);
  } finally {
    await cluster.engine.query(repair);
  }
}

/** Changes the order of an existing index, like a new version of a locale. */
const DAMAGED_INDEX = `
  create function damaged_order(a int, b int) returns int language sql immutable as 'select sign(a - b)::int';
  create operator class ranked for type int using btree as
    operator 1 <, operator 2 <=, operator 3 =, operator 4 >=, operator 5 >, function 1 damaged_order(int, int);
  create table damaged as select generate_series(1, 100) as n;
  create index on damaged (n ranked);
  create or replace function damaged_order(a int, b int) returns int language sql immutable as 'select sign(b - a)::int'`;
