import type { Actor } from "#access/principal.ts";
import type { Operation } from "#http/app.ts";
import { type Cell, cellsOf, keyOf, linesOf } from "#test/matrix/cells.ts";
import type { Line, State } from "#test/matrix/line.ts";
import { ruleMutations } from "#test/matrix/mutants.ts";

/** Callers who succeed somewhere, by each way to act. */
const SUCCESSFUL = [
  ...["owner", "user", "administrator", "anonymous", "anonymous on the same machine"],
  ...["user by session", "administrator for a user"],
];
const RESTRICTED: readonly State[] = [
  ...(["archived", "archived above", "marked for deletion"] as const),
  ...(["code for members", "code for nobody"] as const),
];

type CellFilter = (cell: Cell) => boolean;

/**
 * The cells of an operation whose requests the gate sends: the first that is likely to notice each weakening of its rule,
 * and the first of each kind of answer. The campaign sends the requests of all cells.
 */
export function chosenCells(operation: Operation, turn: number, weakenedActor: Actor): Cell[] {
  const known = linesOf(operation);
  const all = known.flatMap((line) => cellsOf(operation, line));
  const usual = all.filter(
    ({ verb, form, expected }) =>
      verb === operation.endpoint.method && form !== "encoded slash" && form !== "upper case" && expected !== "refused",
  );
  const wanted: CellFilter[] = [
    ...weakenings(operation, known, weakenedActor),
    ...known.flatMap((line) => [...successes(line), ...wrongChildren(line), ...hidden(line)]),
    ...RESTRICTED.map((state) => (cell: Cell) => cell.state === state && cell.caller.name === "owner"),
    ...refusals(),
  ];
  const chosen = new Set(wanted.flatMap((isWanted) => usual.find(isWanted) ?? []));
  for (const cell of otherwiseAsked(operation, all, turn)) chosen.add(cell);
  return [...chosen];
}

export const isByApi = ({ scopes }: Cell): boolean => scopes === undefined || scopes[0] === "api";

function weakenings(operation: Operation, known: readonly Line[], weakenedActor: Actor): CellFilter[] {
  if (known.every(({ ignoresCredentials }) => ignoresCredentials)) return [];
  return ruleMutations
    .filter(({ weaken }) => weaken(operation.endpoint, known, weakenedActor))
    .flatMap(({ likely }) =>
      known.map(
        (line): CellFilter =>
          (cell) =>
            cell.line === line && likely(cell),
      ),
    );
}

const successes = (line: Line): CellFilter[] =>
  SUCCESSFUL.map(
    (name) => (cell) =>
      cell.line === line && cell.caller.name === name && isByApi(cell) && Number(cell.expected) < 300 && isPlain(cell),
  );

/** What the path names belongs to another parent, or is missing. */
const wrongChildren = (line: Line): CellFilter[] =>
  (["foreign", "above", "missing"] as const).flatMap((owner) =>
    ["owner", "user", "administrator"].map(
      (name): CellFilter =>
        (cell) =>
          cell.line === line && cell.owner === owner && cell.caller.name === name && isByApi(cell) && isPlain(cell),
    ),
  );

/** A group or project that is missing, or hidden from the caller by each way to name it. */
const hidden = (line: Line): CellFilter[] => [
  ...["owner", "administrator", "anonymous"].map(
    (name): CellFilter =>
      (cell) =>
        cell.line === line && cell.owner === "nowhere" && cell.caller.name === name && isByApi(cell),
  ),
  ...(["plain", "full path", "old path"] as const).flatMap((form) =>
    ["user", "anonymous"].map(
      (name): CellFilter =>
        (cell) =>
          cell.line === line &&
          cell.form === form &&
          cell.caller.name === name &&
          cell.owner === "own" &&
          cell.visibility === "private",
    ),
  ),
];

/** Every role is refused once, and a request once for a parameter and once for its scope. */
const refusals = (): CellFilter[] => [
  ...["guest", "planner", "reporter", "developer", "maintainer"].map(
    (name): CellFilter =>
      (cell) =>
        cell.caller.name === name && cell.expected === 403 && isByApi(cell),
  ),
  (cell) => cell.badParameter && cell.caller.name === "administrator",
  (cell) => cell.caller.name === "administrator" && cell.expected === 403 && !isByApi(cell),
];

/** One other verb and one other form of the path: they are answered alike everywhere, so the operations take turns. */
function otherwiseAsked({ endpoint }: Operation, all: readonly Cell[], turn: number): Cell[] {
  const verbs = all.filter(({ verb, caller }) => verb !== endpoint.method && caller.name === "administrator");
  const forms = all.filter(({ form, caller }) => form !== "plain" && caller.name === "administrator");
  return [verbs, forms].flatMap((cells) => (cells.length === 0 ? [] : (cells[turn % cells.length] as Cell)));
}

const isPlain = ({ form, badParameter }: Cell) => form === "plain" && !badParameter;

/** Cells with a password among the parameters, which no response and no log may repeat. */
export function cellsWithPassword(operation: Operation, password: string): Cell[] {
  const [line] = linesOf(operation);
  if (!line || !("password" in operation.endpoint.params.properties)) return [];
  const given = { ...line, send: `${line.send ?? ""}&password=${password}` };
  const cells = cellsOf(operation, given).filter((cell) => isPlain(cell) && cell.verb === operation.endpoint.method);
  return ["anonymous", "user", "administrator", "blocked"].flatMap(
    (name) => cells.find((cell) => cell.caller.name === name && isByApi(cell)) ?? [],
  );
}

export const titleOf = ({ operation, caller, owner, form, verb }: Cell): string =>
  `${keyOf(operation)} as ${caller.name}${[verb, form, owner].map((part) => `, ${part}`).join("")}`;
