import type { TSchema } from "typebox";
import { Check, Errors } from "typebox/schema";

/** What is wrong with a payload, in words; nothing where it fits. */
export function misfit(schema: TSchema, payload: unknown): string | undefined {
  if (Check(schema, payload)) return undefined;
  const [, [first]] = Errors(schema, payload);
  return first ? `${first.instancePath} ${first.message}`.trim() : "does not fit";
}
