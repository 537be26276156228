import assert from "node:assert/strict";
import type { Operation } from "#http/app.ts";
import type { WriteRequest } from "#test/contract.ts";
import { contracts } from "#test/support/contracts.ts";
import { type Cell, cellsOf, keyOf, linesOf } from "./cells.ts";
import type { requestOf } from "./requests.ts";

export const ADMINISTRATOR = "administrator";
export const WITH_SUDO = "administrator for an administrator";

/** Requests that no line can express. */
export const specialRequests = new Map(contracts.flatMap(({ requests = {} }) => Object.entries(requests)));

/** The cell of the usual request of a caller, in a container in which it succeeds. */
export function usualCell(operation: Operation, caller: string): Cell | undefined {
  const [line] = linesOf(operation);
  assert.ok(line, `no line for ${keyOf(operation)}`);
  const request = specialRequests.has(keyOf(operation));
  if (request && caller === WITH_SUDO && operation.endpoint.path.endsWith("/session")) return undefined;
  return cellsOf(operation, line).find(
    ({ caller: { name }, scopes, verb, form, badParameter, state, expected }) =>
      name === caller &&
      scopes?.[0] === "api" &&
      verb === operation.endpoint.method &&
      form === "plain" &&
      !badParameter &&
      state === (line.container?.state ?? "live") &&
      (request || Number(expected) < 300),
  );
}

/** The request of a cell with the body, or the session instead of the token, that its contract provides. */
export function withRequest(usual: ReturnType<typeof requestOf>, request: WriteRequest | undefined) {
  if (!request) return usual;
  const { "private-token": token, "content-type": _, ...headers } = usual.headers as Record<string, string>;
  return {
    ...usual,
    headers: { ...headers, ...(request.headers ?? { "private-token": token }) },
    payload: request.payload ?? {},
  };
}
