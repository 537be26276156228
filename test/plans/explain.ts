import { hash, randomUUID } from "node:crypto";
import pg from "pg";
import type { Recorded } from "./record.ts";

export interface Cost {
  readonly ms: number;
  /** Rows that were read of any table or index, those that were thrown away included. */
  readonly read: number;
  readonly mode: string;
  readonly statement: string;
  readonly request: string;
}

interface Plan {
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Index Recheck"?: number;
  readonly Plans?: readonly Plan[];
}

const MODES = ["force_generic_plan", "force_custom_plan"] as const;

/** Measures statements under both kinds of plan; each text with the same values only once. */
export function explainer(client: pg.Client, patience: number) {
  const seen = new Map<string, Cost>();
  const prepared = new Map<string, string>();

  /** The worse of both plans. */
  async function explain({ text, values, request }: Recorded & { request: string }): Promise<Cost> {
    const key = hash("sha1", JSON.stringify([text, values]));
    const known = seen.get(key);
    if (known) return known;
    let name = prepared.get(text);
    if (name === undefined) {
      prepared.set(text, (name = `p${randomUUID().replaceAll("-", "")}`));
      await client.query(`prepare ${name} as ${text}`);
    }
    let worst: Cost = { ms: 0, read: 0, mode: "", statement: text, request };
    for (const mode of MODES) {
      await client.query(`set plan_cache_mode = ${mode}`);
      const { ms, read } = await measured(name, values);
      worst = { ...worst, read: Math.max(read, worst.read), ...(ms > worst.ms && { ms, mode }) };
    }
    seen.set(key, worst);
    return worst;
  }

  // A slow one is tried again: what counts is the plan, not what else the machine did just then.
  async function measured(name: string, values: readonly unknown[]) {
    let best = await once(name, values);
    for (let tries = 1; tries < 4 && best.ms > patience; tries++) {
      const { ms } = await once(name, values);
      best = { ...best, ms: Math.min(best.ms, ms) };
    }
    return best;
  }

  async function once(name: string, values: readonly unknown[]) {
    const given = values.length === 0 ? "" : `(${values.map(literal).join(", ")})`;
    const { rows } = await client.query(`explain (analyze, timing off, format json) execute ${name}${given}`);
    const [{ "QUERY PLAN": explained }] = rows as [{ "QUERY PLAN": [{ "Execution Time": number; Plan: Plan }] }];
    return { ms: explained[0]["Execution Time"], read: rowsRead(explained[0].Plan) };
  }

  return Object.assign(explain, { count: () => seen.size });
}

function rowsRead(plan: Plan): number {
  const below = (plan.Plans ?? []).reduce((sum, part) => sum + rowsRead(part), 0);
  if (plan["Relation Name"] === undefined) return below;
  const { "Rows Removed by Filter": filtered = 0, "Rows Removed by Index Recheck": rechecked = 0 } = plan;
  return below + (plan["Actual Rows"] + filtered + rechecked) * plan["Actual Loops"];
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return pg.escapeLiteral(`{${value.map((item) => JSON.stringify(String(item))).join(",")}}`);
  return pg.escapeLiteral(String(value));
}
