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

type Gate = (value: unknown) => unknown;

/** Removes the fields that this installation does not have from a response, at every depth. */
export const fieldGate = (returns: TSchema | undefined, config: Config): Gate =>
  (returns && gateOf(returns, config)) ?? ((body) => body);

/** Undefined where there is nothing to remove. */
function gateOf(schema: TSchema, config: Config): Gate | undefined {
  if (Type.IsArray(schema)) return listGate(schema.items, config);
  if (Type.IsObject(schema)) return objectGate(schema.properties, config);
  if (!Type.IsUnion(schema)) return undefined;
  const gates = schema.anyOf.flatMap((option) => gateOf(option, config) ?? []);
  return gates.length === 0 ? undefined : (value) => gates.reduce((kept, gate) => gate(kept), value);
}

function listGate(items: TSchema, config: Config): Gate | undefined {
  const gate = gateOf(items, config);
  return gate && ((value) => (Array.isArray(value) ? value.map(gate) : value));
}

function objectGate(properties: TProperties, config: Config): Gate | undefined {
  const fields = Object.entries(properties);
  const closed = fields.flatMap(([name, field]) => (isOpen(field, config) ? [] : [name]));
  const nested = fields.flatMap(([name, field]) => {
    const gate = isOpen(field, config) ? gateOf(field, config) : undefined;
    return gate ? [[name, gate] as const] : [];
  });
  if (closed.length === 0 && nested.length === 0) return undefined;
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    const copy: Record<string, unknown> = { ...value };
    for (const name of closed) delete copy[name];
    for (const [name, gate] of nested) if (name in copy) copy[name] = gate(copy[name]);
    return copy;
  };
}
