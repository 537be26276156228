import type pg from "pg";
import type { Answered } from "./ask.ts";
import { type Cost, explainer } from "./explain.ts";
import { BOUNDS, type Request } from "./request.ts";
import type { Sample } from "./sample.ts";
import type { Tally } from "./tally.ts";

/** An index, and a request that is slow or reads much more without it. */
export interface Plant extends Pick<Request, "caller" | "path"> {
  readonly index: string;
}

export function plants({ user, largest, project, keyOwner, audited }: Sample): Plant[] {
  const planted = (index: string, path: string, caller: Plant["caller"] = "administrator") => ({ index, caller, path });
  const keyset = "pagination=keyset&per_page=100";
  return [
    planted("users_words", "/users?search=zzzzzz"),
    planted("users_by_name", `/users?order_by=name&sort=asc&${keyset}`, "anonymous"),
    planted("users_by_username", `/users?order_by=username&${keyset}`),
    planted("users_username_taken", "/users?username=nobody-of-this-name", "anonymous"),
    planted("personal_access_tokens_of_user", `/personal_access_tokens?user_id=${user.id}`),
    planted("personal_access_tokens_by_name", "/personal_access_tokens?sort=name_asc"),
    planted("personal_access_tokens_words", "/personal_access_tokens?search=zzzzzz"),
    planted("projects_by_name", `/projects?order_by=name&${keyset}`, "anonymous"),
    planted("projects_by_star_count", `/projects?order_by=star_count&${keyset}`),
    planted("projects_words_public", `/projects?search=zzzzzz&${keyset}`, "anonymous"),
    planted("projects_topics", "/projects?topic=nothing"),
    planted("projects_of_namespace", `/groups/${largest.id}/projects`),
    planted("groups_words", `/groups?search=zzzzzz&${keyset}`),
    planted("members_of_project_taken", `/projects/${project.id}/members`),
    planted("members_of_user", `/users/${user.id}/memberships`),
    planted("keys_of_user", `/users/${keyOwner}/keys`),
    planted("keys_deploy", "/deploy_keys"),
    planted("sessions_of_user", "/user/sessions", "user"),
    planted("audit_events_of_entity", `/projects/${audited}/audit_events`),
  ];
}

/** Drops each index in a transaction that is rolled back, and checks that a statement of its request shows it. */
export async function checkPlants(
  client: pg.Client,
  planted: readonly Plant[],
  answered: readonly Answered[],
  { check }: Tally,
) {
  for (const { index, caller, path } of planted) {
    const request = answered.find(({ name }) => name === `${caller} ${path}`);
    if (!request) {
      check(false, () => `${index}: the request "${caller} ${path}" was not sent`);
      continue;
    }
    const before = await costsOf(request, client);
    await client.query("begin");
    try {
      await client.query(`drop index ${index}`);
      const after = await costsOf(request, client);
      const seen = after.some((cost, at) => isWorse(cost, before[at]?.pages ?? 0, BOUNDS[request.kind]));
      check(seen, () => `${request.name} does not miss ${index}`);
    } finally {
      await client.query("rollback");
    }
  }
}

// With a small table a missing index costs little time, so the pages that are read count as well.
const isWorse = ({ ms, pages }: Cost, pagesBefore: number, bound: number): boolean =>
  ms > bound || pages > 2 * pagesBefore + 50;

async function costsOf({ statements, kind }: Answered, client: pg.Client): Promise<Cost[]> {
  const explain = explainer(client);
  const costs: Cost[] = [];
  for (const statement of statements) costs.push(await explain(statement, BOUNDS[kind]));
  return costs;
}
