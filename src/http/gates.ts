import Type, { type TObject, type TProperties, type TSchema } from "typebox";
import type { Config } from "#config.ts";
import type { Offering, Plan } from "./endpoint.ts";

const RANK: Record<Plan, number> = { free: 0, premium: 1, ultimate: 2 };

/** Marks on an endpoint, a parameter or a field of an answer: where the documents place it. */
interface Gated {
  readonly offering?: readonly Offering[];
  readonly plan?: Plan;
}

export const offered = ({ offering }: Gated, config: Config): boolean =>
  offering === undefined || config.offering === "all" || offering.includes(config.offering);

export const paidFor = ({ plan = "free" }: Gated, config: Config): boolean => RANK[plan] <= RANK[config.plan];

const open = (schema: TSchema, config: Config) => offered(schema, config) && paidFor(schema, config);

/** Leaves out the parameters that this installation has not; they are then ignored like any unknown one. */
export function withinPlan(params: TObject, config: Config): TObject {
  const kept = Object.entries(params.properties).filter(([, schema]) => open(schema, config));
  if (kept.length === Object.keys(params.properties).length) return params;
  return withProperties(params, Object.fromEntries(kept));
}

/** The same object schema with other properties; its rules about several of them stay. */
export function withProperties(
  { type: _, properties: __, required: ___, ...rules }: TObject,
  properties: TProperties,
): TObject {
  return Type.Object(properties, rules);
}

/** Leaves out the fields that this installation has not, from an object or each object of a list. */
export function fieldGate(returns: TSchema | undefined, config: Config): (answer: unknown) => unknown {
  const shut = shutFields(returns, config);
  if (shut.length === 0) return (answer) => answer;
  const strip = (item: unknown) => {
    if (typeof item !== "object" || item === null) return item;
    const copy: Record<string, unknown> = { ...item };
    for (const name of shut) delete copy[name];
    return copy;
  };
  return (answer) => (Array.isArray(answer) ? answer.map(strip) : strip(answer));
}

function shutFields(schema: TSchema | undefined, config: Config): string[] {
  const {
    properties = {},
    items,
    anyOf = [],
  } = (schema ?? {}) as {
    properties?: Record<string, TSchema>;
    items?: TSchema;
    anyOf?: TSchema[];
  };
  const own = Object.entries(properties)
    .filter(([, field]) => !open(field, config))
    .map(([name]) => name);
  return [...own, ...(items ? shutFields(items, config) : []), ...anyOf.flatMap((part) => shutFields(part, config))];
}
