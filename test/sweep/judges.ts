import Value from "typebox/value";
import { plainOf, schemaOf, successOf } from "#http/endpoint.ts";
import { bytesOf } from "#test/access/support.ts";
import type { Cell } from "#test/matrix/cells.ts";
import { expectedStatus, isSeen } from "#test/matrix/model.ts";
import type { Answer } from "#test/matrix/requests.ts";
import type { Secrets } from "./secrets.ts";
import { isByApi, titleOf } from "./chosen.ts";

/** What is wrong with the answers of one operation, in words. */
type Judge = (answers: readonly Answer[], secrets: Secrets) => string[];

/** A judge of each answer alone. */
const each =
  (problemOf: (answer: Answer, secrets: Secrets) => string | undefined): Judge =>
  (answers, secrets) =>
    answers.flatMap((answer) => {
      const problem = problemOf(answer, secrets);
      return problem === undefined ? [] : [`${titleOf(answer.cell)}: ${problem}`];
    });

/** A judge of answers that must be the same byte for byte. */
const alike =
  (what: string, kindOf: (answer: Answer) => string | undefined): Judge =>
  (answers) =>
    [...Map.groupBy(answers, kindOf)].flatMap(([kind, some]) => {
      if (kind === undefined) return [];
      const byBytes = Map.groupBy(some, bytesOf);
      if (byBytes.size === 1) return [];
      const described = [...byBytes].map(([bytes, [first]]) => `${first ? titleOf(first.cell) : ""}: ${bytes}`);
      return [`${what} are answered differently:\n${described.join("\n")}`];
    });

const isExpected = each(({ problem }) => problem);

/** A response of success has exactly what its schema declares. */
const isAsDeclared = each(({ cell, status, headers, payload }) => {
  const { endpoint } = cell.operation;
  if (status !== successOf(endpoint) || cell.verb !== endpoint.method) return undefined;
  const type = headers["content-type"];
  const schema = schemaOf(endpoint.returns);
  if (schema) {
    if (type !== "application/json") return `its type is ${String(type)}`;
    const errors = [...Value.Errors(schema, JSON.parse(payload))].slice(0, 3);
    return errors.length === 0 ? undefined : JSON.stringify(errors);
  }
  if (plainOf(endpoint.returns)) return type && payload !== "" ? undefined : "its body is empty";
  return payload === "" && type === undefined ? undefined : `an empty body was declared, and it is ${payload}`;
});

export const TOKEN = /fl(?:pat|ak)-[\w-]{20,}/;

/** No password, no digest, and a token only when it was just created. */
export const keepsSecrets = each(({ cell, headers, payload }, { texts }) => {
  const text = `${payload} ${JSON.stringify(headers)}`;
  const secret = texts.find((each) => text.includes(each));
  if (secret !== undefined) return `it shows ${secret}`;
  const { properties = {} } = (schemaOf(cell.operation.endpoint.returns) ?? {}) as { properties?: object };
  return !("token" in properties) && TOKEN.test(text) ? "it shows a token" : undefined;
});

export const tellsAddress = ({ payload }: Answer, { address }: Secrets): boolean => payload.includes(address);

/** Only administrators see the address of another user. */
const keepsAddresses = each((answer, secrets) => {
  const { role, sudo } = answer.cell.caller;
  if (!tellsAddress(answer, secrets) || (role === "administrator" && !sudo)) return undefined;
  return "it shows the address of another user";
});

const SHAPES = /^(message|error|error error_description( scope)?)$/;
const INTERNALS = /\bat \/|select |insert |\/home|node_modules|ECONN/i;

/** A refusal has one of the known shapes and reveals no internals. */
const refusesInShape = each(({ cell, status, headers, payload }) => {
  const { endpoint } = cell.operation;
  const type = headers["content-type"];
  if (status < 400 || cell.verb === "HEAD" || plainOf(endpoint.returns)?.contentType === type) return undefined;
  if (INTERNALS.test(payload)) return `it reveals internals: ${payload}`;
  if (endpoint.errors === "git" && type === "text/plain") return undefined;
  if (type !== "application/json") return `its type is ${String(type)}`;
  const shape = Object.keys(JSON.parse(payload) as object).join(" ");
  return SHAPES.test(shape) ? undefined : `its fields are ${shape}`;
});

/** What a 403 of a caller who may use the API says; undefined of other answers. */
export function reasonOf({ cell, status, payload }: Answer): string | undefined {
  const { caller, operation, verb, form } = cell;
  const isUsual = verb === operation.endpoint.method && form === "plain" && isByApi(cell);
  if (status !== 403 || caller.refused !== undefined || caller.sudo || !isUsual) return undefined;
  if (operation.endpoint.errors === "git") return payload;
  const { message, error_description } = JSON.parse(payload) as Record<string, string | undefined>;
  return message ?? error_description ?? "";
}

/** A 403 says which role, scope or state is missing. */
const givesReason = each((answer) => {
  const reason = reasonOf(answer);
  if (reason === undefined || (reason !== "" && !/^403 Forbidden(?! - .)/.test(reason))) return undefined;
  return `it does not say what is missing: ${answer.payload}`;
});

/** Whether a group or project is missing or hidden from the caller. */
export function isHidden({ line: { container }, owner, ...asked }: Cell): boolean {
  if (!container || container.foundBy || asked.caller.refused !== undefined || asked.caller.sudo) return false;
  // Git asks every anonymous caller for a token, whatever exists.
  const isAsked = container.overGit && asked.caller.role === "anonymous" && asked.expected === 401;
  if (asked.expected !== 404 && !isAsked) return false;
  return owner === "nowhere" || !isSeen(container, { owner, ...asked });
}

const hidesContainers = alike("a hidden and a missing group or project", ({ cell, status }) =>
  isHidden(cell) ? `${keyOfLine(cell)} ${cell.verb} ${status}` : undefined,
);

/** Whether only the child can be refused: a child of the right parent would be allowed. */
export const isAboutTheChild = (cell: Cell): boolean => {
  const { container } = cell.line;
  return (
    container?.child !== undefined &&
    container.child !== "oneself" &&
    cell.owner !== "nowhere" &&
    cell.expected === (container.missingStatus ?? 404) &&
    !cell.badParameter &&
    expectedStatus(cell.line, { ...cell, owner: "own" }) < 300
  );
};

/** What another user has, where only their own is shown. */
const isOfAnother = ({ line: { user }, caller, owner, badParameter, expected }: Cell) =>
  typeof user === "object" &&
  user[1] === 404 &&
  caller.name === "user" &&
  (owner === "foreign" || owner === "missing") &&
  !badParameter &&
  expected === 404;

const hidesChildren = alike("a child of another parent and a missing one", ({ cell }) =>
  isAboutTheChild(cell) || isOfAnother(cell) ? `${keyOfLine(cell)} ${cell.verb}` : undefined,
);

/** Lines are compared by identity, so that requests with other parameters stay apart. */
const keys = new Map<object, number>();
function keyOfLine({ line }: Cell): number {
  const key = keys.get(line) ?? keys.size;
  keys.set(line, key);
  return key;
}

export const judges: readonly Judge[] = [
  ...[isExpected, isAsDeclared, keepsSecrets, keepsAddresses, refusesInShape, givesReason],
  ...[hidesContainers, hidesChildren],
];
