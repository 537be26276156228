import { hash } from "node:crypto";
import pg from "pg";
import type { Recorded } from "./record.ts";

export interface Slow {
  readonly ms: number;
  readonly mode: string;
  readonly statement: string;
  readonly request: string;
}

const MODES = ["force_generic_plan", "force_custom_plan"] as const;

/** Times statements under both kinds of plan; each text with the same values only once. */
export function explainer(client: pg.Client, bound: number) {
  const seen = new Map<string, Slow>();
  const prepared = new Set<string>();

  async function explain({ text, values }: Recorded, request: string): Promise<Slow> {
    const key = hash("sha1", JSON.stringify([text, values]));
    const known = seen.get(key);
    if (known) return known;
    const name = `p${hash("sha1", text)}`;
    if (!prepared.has(name)) {
      await client.query(`prepare ${name} as ${text}`);
      prepared.add(name);
    }
    let worst: Slow = { ms: 0, mode: "", statement: text, request };
    for (const mode of MODES) {
      await client.query(`set plan_cache_mode = ${mode}`);
      const ms = await timed(name, values);
      if (ms > worst.ms) worst = { ...worst, ms, mode };
    }
    seen.set(key, worst);
    return worst;
  }

  // A slow one is tried again: what counts is the plan, not what else the machine did just then.
  async function timed(name: string, values: readonly unknown[]): Promise<number> {
    let best = Infinity;
    for (let tries = 0; tries < 4 && best > bound; tries++) best = Math.min(best, await once(name, values));
    return best;
  }

  async function once(name: string, values: readonly unknown[]): Promise<number> {
    const given = values.length === 0 ? "" : `(${values.map(literal).join(", ")})`;
    const { rows } = await client.query(`explain (analyze, timing off, format json) execute ${name}${given}`);
    const [{ "QUERY PLAN": plan }] = rows as [{ "QUERY PLAN": [{ "Execution Time": number }] }];
    return plan[0]["Execution Time"];
  }

  return Object.assign(explain, { count: () => seen.size });
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return pg.escapeLiteral(`{${value.map((item) => JSON.stringify(String(item))).join(",")}}`);
  return pg.escapeLiteral(String(value));
}
