import Type, { type TObject, type TProperties, type TSchema } from "typebox";
import type { Config } from "#config.ts";
import type { Offering, Plan } from "./endpoint.ts";

const RANK: Record<Plan, number> = { free: 0, premium: 1, ultimate: 2 };

/** The offering and plan of an endpoint, a parameter or a field of a response, as the documentation states them. */
interface Gated {
  readonly offering?: readonly Offering[];
  readonly plan?: Plan;
}

export const isOffered = ({ offering }: Gated, config: Config): boolean =>
  offering === undefined || config.offering === "all" || offering.includes(config.offering);

export const isInPlan = ({ plan = "free" }: Gated, config: Config): boolean => RANK[plan] <= RANK[config.plan];

const isOpen = (schema: TSchema, config: Config) => isOffered(schema, config) && isInPlan(schema, config);

/** Removes the parameters that this installation does not have; they are then ignored like any unknown one. */
export function withinPlan(params: TObject, config: Config): TObject {
  const kept = Object.entries(params.properties).filter(([, schema]) => isOpen(schema, config));
  if (kept.length === Object.keys(params.properties).length) return params;
  return withProperties(params, Object.fromEntries(kept));
}

/** The same object schema with other properties; its rules about several of them are kept. */
export function withProperties(
  { type: _, properties: __, required: ___, ...rules }: TObject,
  properties: TProperties,
): TObject {
  return Type.Object(properties, rules);
}

/** Removes the fields that this installation does not have, from an object or each object of a list. */
export function fieldGate(returns: TSchema | undefined, config: Config): (body: unknown) => unknown {
  const closed = closedFields(returns, config);
  if (closed.length === 0) return (body) => body;
  const strip = (item: unknown) => {
    if (typeof item !== "object" || item === null) return item;
    const copy: Record<string, unknown> = { ...item };
    for (const name of closed) delete copy[name];
    return copy;
  };
  return (body) => (Array.isArray(body) ? body.map(strip) : strip(body));
}

function closedFields(schema: TSchema | undefined, config: Config): string[] {
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
    .filter(([, field]) => !isOpen(field, config))
    .map(([name]) => name);
  return [
    ...own,
    ...(items ? closedFields(items, config) : []),
    ...anyOf.flatMap((part) => closedFields(part, config)),
  ];
}
