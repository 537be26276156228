import Type from "typebox";
import type { Databases } from "#db/database.ts";
import { endpoint, plain } from "#http/endpoint.ts";
import { Refusal } from "#lib/refusal.ts";
import { anyoneOrOperator, operator, anyoneUnchecked } from "./access.ts";

const Status = Type.Object({ status: Type.String() }, { additionalProperties: false });
const Check = Type.Object(
  { name: Type.String(), status: Type.String(), message: Type.Optional(Type.String()) },
  { additionalProperties: false },
);
const nothing = Type.Object({});
const common = { method: "GET", mount: "root", limit: "none", params: nothing } as const;

export const health = {
  health: endpoint({
    ...common,
    path: "/-/health",
    summary: "Check that the process responds",
    access: anyoneUnchecked(),
    returns: plain("text/plain"),
    handle: () => "Fairlead OK\n",
  }),

  liveness: endpoint({
    ...common,
    path: "/-/liveness",
    summary: "Check whether the process should keep running",
    access: anyoneUnchecked(),
    returns: Status,
    handle: () => ({ status: "ok" }),
  }),

  readiness: endpoint({
    ...common,
    path: "/-/readiness",
    summary: "Check whether the process accepts requests",
    access: anyoneOrOperator(),
    returns: Type.Object(
      { ...Status.properties, checks: Type.Optional(Type.Array(Check)) },
      { additionalProperties: false },
    ),
    async handle({ databases, services, detailed }) {
      if (services.lifecycle.stopping) throw new Refusal("unavailable", "The process is stopping");
      await databases.point.query("select 1", []);
      return {
        status: "ok",
        ...(detailed && { checks: [{ name: "database", status: "ok" }, await partitions(databases)] }),
      };
    },
  }),

  metrics: endpoint({
    ...common,
    path: "/-/metrics",
    summary: "Get metrics for Prometheus",
    access: operator(),
    returns: plain("text/plain; version=0.0.4; charset=utf-8"),
    handle: ({ services }) => services.metrics.text(),
  }),
};

/** Inserts fail once a table runs out of partitions, so this warns in time. */
async function partitions(databases: Databases) {
  const short = (await databases.partitionsAhead()).filter(({ enough }) => !enough);
  if (short.length === 0) return { name: "partitions", status: "ok" };
  return {
    name: "partitions",
    status: "warning",
    message: `Too few partitions ahead: ${short.map(({ table }) => table).join(", ")}`,
  };
}
