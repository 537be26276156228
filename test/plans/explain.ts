import { hash, randomUUID } from "node:crypto";
import pg from "pg";
import { slowness } from "#test/support/machine.ts";
import type { Recorded } from "./record.ts";

export interface Cost {
  readonly ms: number;
  /** Pages of tables and indexes that were read, whether cached or not. */
  readonly pages: number;
  readonly mode: string;
}

interface Plan {
  readonly "Shared Hit Blocks": number;
  readonly "Shared Read Blocks": number;
}

const MODES = ["force_generic_plan", "force_custom_plan"] as const;
const MAX_TRIES = 4;

/** Creates the function that explains statements under generic and custom plans, each with the same values once. */
export function explainer(client: pg.Client) {
  const costs = new Map<string, Cost>();
  const prepared = new Map<string, string>();

  /** The worse of both plans; a statement without a name has only the custom one. */
  async function explain({ text, values, isNamed }: Recorded, bound: number): Promise<Cost> {
    const key = hash("sha1", JSON.stringify([text, values, isNamed, bound]));
    const known = costs.get(key);
    if (known) return known;
    let name = prepared.get(text);
    if (name === undefined) {
      prepared.set(text, (name = `p${randomUUID().replaceAll("-", "")}`));
      await client.query(`prepare ${name} as ${text}`);
    }
    let worst: Cost = { ms: 0, pages: 0, mode: "" };
    for (const mode of isNamed ? MODES : MODES.slice(1)) {
      await client.query(`set plan_cache_mode = ${mode}`);
      const { ms, pages } = await measured(name, values, bound);
      worst = { ...(ms > worst.ms ? { ms, mode } : worst), pages: Math.max(pages, worst.pages) };
    }
    costs.set(key, worst);
    return worst;
  }

  // Later attempts distinguish a slow plan from a busy machine.
  async function measured(name: string, values: readonly unknown[], bound: number) {
    let best = await once(name, values);
    for (let tries = 1; tries < MAX_TRIES && best.ms > bound; tries++) {
      const { ms } = await once(name, values);
      best = { ...best, ms: Math.min(best.ms, ms) };
    }
    return best;
  }

  async function once(name: string, values: readonly unknown[]) {
    const given = values.length === 0 ? "" : `(${values.map(literal).join(", ")})`;
    const { rows } = await client.query(`explain (analyze, buffers, timing off, format json) execute ${name}${given}`);
    const [{ "QUERY PLAN": explained }] = rows as [{ "QUERY PLAN": [{ "Execution Time": number; Plan: Plan }] }];
    const [{ "Execution Time": ms, Plan: plan }] = explained;
    return { ms: ms / slowness(), pages: plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] };
  }

  return Object.assign(explain, { count: () => costs.size });
}

export type Explain = ReturnType<typeof explainer>;

function literal(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return pg.escapeLiteral(`{${value.map((item) => JSON.stringify(String(item))).join(",")}}`);
  return pg.escapeLiteral(String(value));
}
