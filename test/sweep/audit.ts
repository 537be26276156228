import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { type Answer, isRead } from "#test/matrix/requests.ts";
import type { World } from "#test/matrix/world.ts";
import { titleOf } from "./chosen.ts";

interface AuditRow {
  readonly event: string;
  readonly actor_id: number | null;
  readonly actor_name: string;
  readonly sudo_actor_id: number | null;
  readonly target_type: string | null;
  readonly target_id: number | null;
  readonly ip: string;
  readonly request_id: string;
}

/** A revoked token on a rotate path ends its family, and a wrong password in place of the current one is an event. */
const OF_REFUSALS: readonly string[] = ["personal_access_token_reused", "user_proof_failed"];

const requestIdOf = ({ headers }: Pick<Answer, "headers">) => String(headers["x-request-id"]);

/** The rows of the audit log that requests left, by the id of the request. */
export async function auditRows(db: Db, answers: readonly Answer[]): Promise<Map<string, AuditRow[]>> {
  const { rows } = await sql<AuditRow>`
    select event, actor_id, actor_name, sudo_actor_id, target_type, target_id, host(ip_address) as ip, request_id
    from audit_events where request_id = any(${answers.map(requestIdOf)})`.execute(db);
  return Map.groupBy(rows, (row) => row.request_id);
}

/** A write leaves one row that says who did what to what, and a refused request none. */
export function auditProblems(answers: readonly Answer[], rows: ReadonlyMap<string, AuditRow[]>, world: World) {
  return answers.flatMap((answer) => {
    const { cell, status } = answer;
    const left = (rows.get(requestIdOf(answer)) ?? []).filter(
      ({ event }) => status < 300 || !OF_REFUSALS.includes(event),
    );
    const isDue = status < 300 && !isRead(cell.verb) && isAudited(answer);
    const [row] = left;
    if (left.length !== Number(isDue))
      return [`${titleOf(cell)}: the audit log must have ${isDue ? "one row" : "none"} of it and has ${namesOf(left)}`];
    const wrong = row ? differences(row, expectedRow(answer, row, world)) : [];
    return wrong.length === 0 ? [] : [`${titleOf(cell)}: in the audit log ${wrong.join(", ")}`];
  });
}

const namesOf = (rows: readonly AuditRow[]) => rows.map(({ event }) => event).join(", ") || "none";

function isAudited({ cell: { line, caller } }: Answer): boolean {
  return !line.unaudited || (line.unaudited === "by oneself" && caller.sudo !== undefined);
}

function expectedRow({ cell: { caller, operation } }: Answer, row: AuditRow, world: World): Partial<AuditRow> {
  const { audit, access } = operation.endpoint;
  const token = world.accounts.get(caller.name);
  const sudo = caller.sudo?.as;
  const acting = sudo === undefined || sudo === "missing" ? token : world.targets[sudo];
  const isAnonymous = caller.role === "anonymous" || (caller.carrier === "session" && access.signsIn === true);
  const ip = caller.loopback ? "127.0.0.1" : "203.0.113.7";
  // The author is the user who signs in, even if the request carries a token.
  if (audit === "user_signed_in") return { event: audit, actor_id: row.target_id, sudo_actor_id: null, ip };
  return {
    ...(typeof audit === "string" && { event: audit }),
    ...{ actor_id: isAnonymous ? null : (acting?.id ?? 0), actor_name: isAnonymous ? "" : (acting?.username ?? "") },
    ...{ sudo_actor_id: sudo === undefined ? null : (token?.id ?? 0), ip },
  };
}

function differences(row: AuditRow, expected: Partial<AuditRow>): string[] {
  const wrong = Object.entries(expected)
    .filter(([name, value]) => row[name as keyof AuditRow] !== value)
    .map(([name, value]) => `${name} is ${String(row[name as keyof AuditRow])} instead of ${String(value)}`);
  const hasTarget = row.target_type !== null && row.target_id !== null;
  return hasTarget === (row.event !== "password_reset_asked") ? wrong : [...wrong, "the target is wrong"];
}
