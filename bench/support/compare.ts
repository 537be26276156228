import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { progress, short, table, median } from "./figures.ts";
import { type HttpLoad, type Load, loadHttp, loadPostgres } from "./load.ts";
import type { Options } from "./options.ts";
import { type Running, startBare, startFairlead, temporaryDirectory } from "./processes.ts";
import { type Engine, seededEngine, userToken } from "./seeded.ts";
import { type Script, type Statement, statementsOf } from "./statements.ts";

export interface Comparison {
  readonly path: string;
  readonly connections: readonly number[];
  /** Returns the script by which pgbench runs the SQL of the request. */
  readonly script: (statements: readonly Statement[], engine: Engine) => Script;
}

/** One measurement of everything that is compared, so that a slow minute affects all of it. */
export interface Round {
  readonly pgbench: Load;
  readonly at: ReadonlyMap<number, { readonly ours: HttpLoad; readonly bare: HttpLoad }>;
}

/** Loads PostgreSQL with a request's SQL, our server with the request, and bare Fastify with its answer, in turn. */
export async function compare({ path, connections, script }: Comparison, options: Options): Promise<Round[]> {
  await using engine = await seededEngine(options.users);
  using dir = temporaryDirectory();
  await using ours = await startFairlead(dir.path, {
    FAIRLEAD_DATABASE_URL: engine.url,
    FAIRLEAD_DATA_DIR: join(dir.path, "data"),
    FAIRLEAD_RATE_LIMIT_USER: "1000000000",
    FAIRLEAD_RATE_LIMIT_ADDRESS: "1000000000",
  });
  const files = {
    tokens: join(dir.path, "tokens"),
    answer: join(dir.path, "answer.json"),
    script: join(dir.path, "pgbench.sql"),
  };
  writeFileSync(files.tokens, Array.from({ length: engine.tokens }, (_, i) => `${userToken(i + 1)}\n`).join(""));
  const answer = await get(ours, path);
  writeFileSync(files.answer, JSON.stringify(answer));
  const { text, variables } = script(await statementsOf(engine, () => get(ours, path)), engine);
  writeFileSync(files.script, text);
  await using bare = await startBare(dir.path, path.replace(/\?.*/, ""), files.answer);
  if (!isDeepStrictEqual(await get(bare, path), answer)) throw new Error("Bare Fastify sends another answer");

  const round = async (): Promise<Round> => {
    const pgbench = await loadPostgres(engine, { file: files.script, variables, seconds: options.seconds });
    const at = new Map<number, { ours: HttpLoad; bare: HttpLoad }>();
    for (const count of connections) {
      const request = { path, tokens: files.tokens, connections: count, seconds: options.seconds };
      at.set(count, {
        ours: await recorded(ours, () => loadHttp(ours, engine, request)),
        bare: await loadHttp(bare, engine, request),
      });
    }
    return { pgbench, at };
  };
  progress(`${engine.tokens} tokens; warming up`);
  await round();
  const rounds: Round[] = [];
  while (rounds.length < options.rounds) {
    progress(`round ${rounds.length + 1} of ${options.rounds}`);
    rounds.push(await round());
  }
  console.log(tableOf(rounds));
  return rounds;
}

async function get(server: Running, path: string): Promise<unknown> {
  const answer = await fetch(`${server.url}${path}`, { headers: { "private-token": userToken(1) } });
  if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
  return answer.json();
}

// A log line has at least the id, method, path, status and time of the request.
const MIN_LINE_LENGTH = 80;

/** Checks a load against the server: every answer is 200, counted in the metrics and logged. */
async function recorded(server: Running, load: () => Promise<HttpLoad>): Promise<HttpLoad> {
  const before = { answers: await answersOf(server), log: statSync(server.log).size };
  const seen = await load();
  const after = await answersOf(server);
  const others = [...after].filter(([status, count]) => status !== "200" && count > (before.answers.get(status) ?? 0));
  if (others.length > 0) throw new Error(`Answers other than 200: ${others.map(([status]) => status).join(", ")}`);
  const counted = (after.get("200") ?? 0) - (before.answers.get("200") ?? 0);
  if (counted < seen.count) throw new Error(`${seen.count} answers, but metrics count ${counted}`);
  const logged = statSync(server.log).size - before.log;
  if (logged < seen.count * MIN_LINE_LENGTH) throw new Error(`${seen.count} answers, but ${logged} bytes of log`);
  return seen;
}

async function answersOf(server: Running): Promise<Map<string, number>> {
  const text = await (await fetch(`${server.url}/-/metrics`)).text();
  const answers = new Map<string, number>();
  for (const [, status = "", count] of text.matchAll(
    /^fairlead_http_request\w*_count\{.*status="(\d+)".*\} (\d+)$/gm,
  )) {
    answers.set(status, (answers.get(status) ?? 0) + Number(count));
  }
  return answers;
}

function tableOf(rounds: readonly Round[]): string {
  const middle = <L>(loads: readonly L[], pick: (load: L) => number) => median(loads.map(pick));
  const range = (loads: readonly Load[]) => {
    const rates = loads.map(({ perSecond }) => perSecond);
    return `${short(Math.min(...rates))} to ${short(Math.max(...rates))}`;
  };
  const httpRow = (name: string, loads: readonly HttpLoad[]) => [
    name,
    middle(loads, (load) => load.perSecond),
    range(loads),
    middle(loads, (load) => load.node),
    middle(loads, (load) => load.postgres),
    middle(loads, (load) => load.p50),
    middle(loads, (load) => load.p99),
  ];
  const alone = rounds.map(({ pgbench }) => pgbench);
  const rate = middle(alone, (load) => load.perSecond);
  const rows = [["pgbench, 8 clients", rate, range(alone), "", middle(alone, (load) => load.postgres), "", ""]];
  for (const count of rounds[0]?.at.keys() ?? []) {
    const pairs = rounds.map(({ at }) => at.get(count)).filter((pair) => pair !== undefined);
    rows.push(
      httpRow(
        `Fairlead, ${count} connections`,
        pairs.map(({ ours }) => ours),
      ),
    );
    rows.push(
      httpRow(
        `bare Fastify, ${count} connections`,
        pairs.map(({ bare }) => bare),
      ),
    );
  }
  return table(["median", "a second", "range", "Node us each", "PostgreSQL us each", "p50 ms", "p99 ms"], rows);
}

/** The median over the rounds of a ratio within each of them. */
export const ratio = (
  rounds: readonly Round[],
  count: number,
  of: (round: Round, ours: HttpLoad, bare: HttpLoad) => number,
) =>
  median(
    rounds.map((round) => {
      const pair = round.at.get(count);
      if (!pair) throw new Error(`Nothing was measured at ${count} connections`);
      return of(round, pair.ours, pair.bare);
    }),
  );
