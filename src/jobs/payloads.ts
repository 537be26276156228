import type { TSchema } from "typebox";
import { Check, Errors } from "typebox/schema";

/** Describes why a payload does not match its schema; undefined if it does. */
export function payloadProblem(schema: TSchema, payload: unknown): string | undefined {
  if (Check(schema, payload)) return undefined;
  const [, [first]] = Errors(schema, payload);
  return first ? `${first.instancePath} ${first.message}`.trim() : "does not match";
}
