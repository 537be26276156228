import { writeFileSync } from "node:fs";
import type { IncomingMessage, Server } from "node:http";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { sql } from "kysely";
import Type, { type TProperties } from "typebox";
import { csrfTokenOf } from "#access/sessions.ts";
import type { Db, Tx } from "#db/database.ts";
import type { Resources } from "#http/app.ts";
import { type Endpoint, plain } from "#http/endpoint.ts";
import { PARAMETER_LIMITS } from "#http/params/json.ts";
import { badRequest, Refusal, unchanged } from "#lib/refusal.ts";
import type { Services } from "#services.ts";

/** The part of the context that planted handlers use. */
interface Context {
  readonly db: Db;
  readonly tx: Tx;
  readonly services: Services;
  readonly body: Buffer;
  readonly params: Readonly<Record<string, string | undefined>>;
  setHeader(name: string, value: string): void;
}
type Handle = (context: Context) => unknown;

/** Changes one endpoint; `old` is the original one. */
function changeEndpoint(name: string, change: (old: Endpoint, handle: Handle) => Partial<Endpoint>) {
  return (resources: Resources): Resources => {
    const [resource = "", operation = ""] = name.split(".");
    const old = resources[resource]?.[operation];
    if (!old) throw new Error(`There is no operation ${name}`);
    const changed: Endpoint = { ...old, ...change(old, old.handle as Handle) };
    return { ...resources, [resource]: { ...resources[resource], [operation]: changed } };
  };
}

const handled = (handle: Handle) => ({ handle: handle as Endpoint["handle"] });
const before = (name: string, first: (context: Context) => unknown) =>
  changeEndpoint(name, (_old, handle) => handled(async (context) => [await first(context), await handle(context)][1]));
const after = (name: string, change: (answer: object, context: Context) => unknown) =>
  changeEndpoint(name, (_old, handle) =>
    handled(async (context) => change((await handle(context)) as object, context)),
  );
const unchecked = ({ params }: Endpoint, properties: TProperties) => ({
  params: Type.Object({ ...params.properties, ...properties }),
});
const anyText = Type.Optional(Type.String());

/** Uses this much CPU time, however busy the machine is. */
function spin(milliseconds: number) {
  const start = process.threadCpuUsage();
  // Reading the clock is expensive, so not every iteration does it.
  for (let turn = 1; turn % 100_000 > 0 || process.threadCpuUsage(start).user < milliseconds * 1000; turn++);
}

/** Blocks the process without using CPU time. */
const stop = (milliseconds: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);

/** One of the seeds, so that a defect for this value shows once or twice in a run. */
const LATE = "294277-01-01T00:00:00Z";

/** Defects of the kinds that the fuzzer must find. */
export const PLANTS: Readonly<Record<string, (resources: Resources) => Resources>> = {
  "nul-into-sql": changeEndpoint("personalAccessTokens.createForUser", () => ({
    body: { kind: "raw", bytes: 65_536, json: PARAMETER_LIMITS },
    params: Type.Object({ user_id: Type.Integer() }),
    ...handled(async ({ tx, body }) => {
      await sql`select ${textIn(body, "name")}::text`.execute(tx);
      throw badRequest();
    }),
  })),
  "big-id": changeEndpoint("personalAccessTokens.get", (old, handle) => ({
    ...unchecked(old, { id: Type.String() }),
    ...handled(async (context) => {
      const { params, db } = context;
      if (!/^\d+$/.test(params["id"] ?? "")) throw badRequest();
      await sql`select ${params["id"]}::bigint`.execute(db);
      return handle(context);
    }),
  })),
  "late-date": changeEndpoint("users.list", (old, handle) => ({
    ...unchecked(old, { created_after: anyText }),
    ...handled(async ({ params: { created_after, ...params }, ...context }) => {
      const given = created_after ?? "";
      if (/^\d+-\d\d-\d\d(T\d\d:00:00Z)?$/.test(given)) await sql`select ${given}::timestamptz`.execute(context.db);
      return handle({ ...context, params });
    }),
  })),
  "huge-number": changeEndpoint("personalAccessTokens.list", (old, handle) => ({
    ...unchecked(old, { search: anyText }),
    ...handled(async ({ params: { search, ...params }, ...context }) => {
      if (/^\d+e\d+$/.test(search ?? "")) await sql`select ${search}::numeric`.execute(context.db);
      return handle({ ...context, params });
    }),
  })),
  "long-key": changeEndpoint("personalAccessTokens.createOwn", (old) => ({
    ...unchecked(old, { description: anyText }),
    ...handled(async ({ tx, params }) => {
      await sql`insert into namespaces (path, name) values (${params["description"] ?? "a"}, 'planted')`.execute(tx);
      throw badRequest();
    }),
  })),
  "big-ids": changeEndpoint("groupMembers.add", (old) => ({
    ...unchecked(old, { user_id: anyText }),
    ...handled(async ({ tx, params }) => {
      if (/^\d+$/.test(params["user_id"] ?? "")) await sql`select array[${params["user_id"]}]::bigint[]`.execute(tx);
      throw badRequest();
    }),
  })),
  "long-address": changeEndpoint("groups.get", ({ access }) => ({
    access: {
      ...access,
      check(caller) {
        if ((caller.path["id"] ?? "").split("/").length > 21) throw new RangeError("planted");
        return access.check(caller);
      },
    },
  })),
  "wrong-place": after("groups.transfer", async (answer, { tx }) => {
    await sql`update namespaces set traversal_ids = array[id] where id = ${(answer as { id: number }).id}`.execute(tx);
    return answer;
  }),
  "silent-write": before("projects.share", () => {
    throw unchanged();
  }),
  throw: before("users.list", ({ params }) => {
    if (/[^ -~]/.test(params["search"] ?? "")) throw new TypeError("planted");
  }),
  "leak-password": after("users.create", (answer, { params }) => ({ ...answer, note: params["password"] ?? null })),
  "leak-token": changeEndpoint("versions.version", (old, handle) => ({
    ...unchecked(old, { private_token: anyText }),
    ...handled(async (context) => ({
      ...((await handle(context)) as object),
      revision: context.params["private_token"] ?? "0",
    })),
  })),
  "log-password": before("users.create", ({ params, services }) => services.log.info({ given: params["password"] })),
  "wrong-shape": after("users.current", (answer) => ({ ...answer, locked: null })),
  "extra-field": after("personalAccessTokens.getSelf", (answer) => ({ ...answer, token_digest: "00" })),
  "wrong-type": changeEndpoint("versions.metadata", () => ({
    returns: plain("text/html"),
    ...handled(() => "<p>planted</p>"),
  })),
  "wrong-status": changeEndpoint("personalAccessTokens.rotateSelf", () => ({ status: 201 })),
  "leak-session": after("sessions.list", async (answer, { db }) => {
    const { rows } = await sql<{ digest: string }>`select encode(digest, 'hex') as digest from sessions`.execute(db);
    return (answer as object[]).map((session) => ({ ...session, user_agent: rows.map(({ digest }) => digest).join() }));
  }),
  "secret-again": (resources) => {
    let made = "";
    const remember = after("secondFactors.begin", (answer) => {
      made = (answer as { secret: string }).secret;
      return answer;
    });
    const show = after("userStatuses.getOwn", (answer) => ({ ...answer, message: made }));
    return show(remember(resources));
  },
  "stray-cookie": before("keys.listOwn", ({ setHeader }) => setHeader("set-cookie", "seen=yes")),
  "log-link": before("accounts.confirmPage", ({ params, services }) => services.log.info({ given: params["token"] })),
  "newline-in-ref": before("trees.list", ({ params }) => {
    if (params["ref"]?.includes("\n")) throw new TypeError("planted");
  }),
  "expression-to-git": changeEndpoint("commits.get", (_old, handle) =>
    handled((context) => {
      const { params } = context;
      return handle(/[~^]/.test(params["sha"] ?? "") ? { ...context, params: { ...params, sha: "main" } } : context);
    }),
  ),
  "path-in-error": changeEndpoint("archives.getZip", (_old, handle) =>
    handled(async (context) => {
      try {
        return await handle(context);
      } catch {
        throw new Refusal("missing", `nothing in ${context.services.config.dataDir}`);
      }
    }),
  ),
  "left-push": before("branches.create", async ({ params, services: { db } }) => {
    if (params["ref"] !== LATE) return;
    await sql`insert into pushes (project_id, refs, old_ids, new_ids, held_until)
      select min(id), array['refs/heads/x'], array[''], array[''], 'infinity' from projects`.execute(db.write);
  }),
  "left-process": before("branches.create", async ({ params, services }) => {
    if (params["branch"] !== LATE) return;
    for (const repository of await repositoriesOf(services)) {
      await repository.run({ command: "update-ref", options: ["--stdin"], interactive: true });
    }
  }),
  "broken-object": before("tags.create", async ({ params, services }) => {
    if (params["ref"] !== LATE) return;
    const options = ["-t", "commit", "-w", "--stdin", "--literally"];
    for (const repository of await repositoriesOf(services)) {
      const made = await repository.run({ command: "hash-object", options, input: "planted" });
      made.output.resume();
      await made.ended;
    }
  }),
  "file-beside": before("tags.create", ({ params, services }) => {
    if (params["tag_name"] === LATE) writeFileSync(join(services.config.dataDir, "planted"), "");
  }),
  unhandled: before("health.liveness", () => void Promise.reject(new Error("planted"))),
  pollute: before("versions.version", () =>
    Object.assign(Object.getPrototypeOf({}) as object, { polluted: "planted" }),
  ),
  block: before("users.list", ({ params }) => params["provider"] === LATE && spin(350)),
  slow: before("users.list", ({ params }) => params["username"] === LATE && pause(1300)),
  hang: before("users.list", ({ params }) => params["search"] === LATE && stop(60_000)),
};

/** Defects in the handling of a request before an endpoint gets it. */
export const EARLY_PLANTS: Readonly<Record<string, (request: IncomingMessage) => void>> = {
  "cookie-alone"({ headers }) {
    const [, secret] = /fairlead_session=([\w-]+)/.exec(headers.cookie ?? "") ?? [];
    if (secret === undefined) return;
    Object.assign(headers, { "sec-fetch-site": "same-origin", "x-csrf-token": csrfTokenOf(secret) });
  },
};

export function plantedBefore(server: Server, names: readonly string[]) {
  for (const name of names) {
    const plant = EARLY_PLANTS[name];
    if (plant) server.prependListener("request", plant);
  }
}

async function repositoriesOf({ git: { storages } }: Services) {
  const [storage] = storages;
  const names = await Array.fromAsync(storage?.repositories() ?? []);
  return names.flatMap((name) => storage?.repository(name) ?? []);
}

function textIn(body: Buffer, name: string): string {
  try {
    const value = (JSON.parse(body.toString("utf8")) as Record<string, unknown> | null)?.[name];
    return typeof value === "string" ? value.toWellFormed() : "";
  } catch {
    return "";
  }
}

/** The endpoints with defects planted in them. */
export function planted(resources: Resources, names: readonly string[]): Resources {
  return names.reduce((grown, name) => {
    const plant = PLANTS[name];
    if (plant) return plant(grown);
    if (EARLY_PLANTS[name]) return grown;
    throw new Error(`--plant must be of ${[...Object.keys(PLANTS), ...Object.keys(EARLY_PLANTS)].join(", ")}`);
  }, resources);
}
