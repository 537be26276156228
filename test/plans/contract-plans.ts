import type pg from "pg";
import { contracts } from "#test/support/contracts.ts";
import type { Plant } from "./plants.ts";
import type { Request } from "./request.ts";
import { firstRow } from "./sample.ts";

/** The requests that contracts make of the seed, and the indexes that these would miss. */
export async function readContractPlans(client: pg.Client): Promise<{ requests: Request[]; planted: Plant[] }> {
  const [requests, planted]: [Request[], Plant[]] = [[], []];
  for (const { plans } of contracts) {
    if (!plans) continue;
    const sample = await firstRow(client, plans.sample);
    requests.push(...plans.requests(sample));
    for (const [index, path] of Object.entries(plans.indexes(sample)))
      planted.push({ index, caller: "administrator", path });
  }
  return { requests, planted };
}
