import { setTimeout as sleep } from "node:timers/promises";
import { administratorToken, memberToken, userToken } from "#bench/support/seeded.ts";
import type { Reply, TestApp } from "#test/support/app.ts";
import { slowness } from "#test/support/machine.ts";
import { type Recorded, recordStatements } from "./record.ts";
import { BOUNDS, type Caller, firstPageOf, type Kind, kindOf, listOf, type Request } from "./request.ts";
import type { Tally } from "./tally.ts";

/** The caller, the container, candidates, filters, the page, and each kind of related rows once. */
const MAX_STATEMENTS = 12;
const MAX_TRIES = 4;
const RETRY_INTERVAL_MS = 1_000;

/** A completed request: its duration for the caller, without the network, and its statements. */
export interface Answered {
  readonly request: Request;
  readonly kind: Kind;
  readonly name: string;
  /** The list, or undefined if the response is not a list. */
  readonly list: string | undefined;
  readonly ms: number;
  readonly statements: readonly Recorded[];
}

const TOKENS: Readonly<Record<Caller, string | undefined>> = {
  anonymous: undefined,
  user: userToken(1),
  "member of 5,000": memberToken(1),
  "member of the largest": memberToken(2),
  administrator: administratorToken,
};

/** Creates the function that sends a request, for keyset paging also that of the next page, and checks the response. */
export function asker(app: TestApp, { check }: Tally) {
  /** The total of each first page; undefined if there are too many rows to count. */
  const totals = new Map<string, number | undefined>();

  return async function ask(request: Request): Promise<Answered[]> {
    const { reply, answered } = await send(request);
    const next = answered.kind === "keyset" && reply.headers.link && nextPath(reply.headers.link);
    return next
      ? [answered, (await send({ ...request, path: next, rows: request.rows ?? "any" })).answered]
      : [answered];
  };

  async function send(request: Request): Promise<{ reply: Reply; answered: Answered }> {
    const kind = kindOf(request);
    const name = `${request.caller} ${request.path}`;
    const token = TOKENS[request.caller];
    let reply = await app.get(request.path, { token });
    let ms = Infinity;
    let statements: Recorded[] = [];
    let tries = 0;
    // The first time a connection plans the statements; later attempts distinguish a slow plan from a busy machine.
    do {
      if (reply.status === 503) await sleep(RETRY_INTERVAL_MS);
      statements = await recordStatements(async () => {
        const began = performance.now();
        reply = await app.get(request.path, { token });
        ms = Math.min(ms, (performance.now() - began) / slowness());
      });
    } while (++tries < MAX_TRIES && (reply.status === 503 || ms > BOUNDS[kind]));
    const isExpected = reply.status === (request.status ?? 200);
    check(isExpected, () => `${name}: ${reply.status} ${reply.text.slice(0, 300)}`);
    if (isExpected) {
      checkRows(request, name, reply);
      check(ms <= BOUNDS[kind], () => `${name}: ${ms.toFixed(1)} ms`);
      check(statements.length > 0, () => `${name}: no statement was recorded`);
      check(statements.length <= MAX_STATEMENTS, () => `${name}: ${statements.length} statements`);
    }
    const isList = reply.status === 200 && Array.isArray(reply.body);
    return { reply, answered: { request, kind, name, list: isList ? listOf(request) : undefined, ms, statements } };
  }

  function checkRows(request: Request, name: string, { status, body, headers }: Reply) {
    if (status !== 200 || !Array.isArray(body)) return;
    if (headers["x-page"] === "1") totals.set(name, headers["x-total"] ? Number(headers["x-total"]) : undefined);
    if (request.rows === "any" || mayEndBefore(request)) return;
    const none = request.rows === "none";
    check((body.length === 0) === none, () => `${name}: ${body.length} rows, expected ${none ? "none" : "some"}`);
  }

  /** Whether a page at an offset may be empty because the list is shorter; totals are unknown beyond 10,000. */
  function mayEndBefore(request: Request): boolean {
    const first = firstPageOf(request);
    if (first === undefined) return false;
    const total = totals.get(first);
    return kindOf(request) === "offset 50,000" || (total !== undefined && total <= 9_900);
  }
}

/** The path of the next page in a Link header. */
const nextPath = (link: string): string | undefined => /<[^>]*\/api\/v4([^>]+)>; rel="next"/.exec(link)?.[1];
