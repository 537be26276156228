import { randomBytes, randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import type { InjectOptions } from "fastify";
import { type Insertable, sql } from "kysely";
import pino from "pino";
import { tokenDigest } from "#access/authenticate.ts";
import type { Scope } from "#access/scopes.ts";
import { readConfig } from "#config.ts";
import type { Database } from "#db/types.ts";
import { buildApp, type Resources } from "#http/app.ts";
import type { KernelOptions } from "#http/kernel.ts";
import { constraints, resources as allResources } from "#domains/index.ts";
import { logOptions } from "#lib/log-format.ts";
import { openServices } from "#services.ts";
import { PATIENT } from "./limits.ts";
import { testDatabase } from "./postgres.ts";

export interface TestUser {
  readonly id: number;
  readonly username: string;
  readonly email: string;
  readonly token: string;
  readonly tokenId: number;
}

export interface Call extends Pick<InjectOptions, "payload" | "query" | "remoteAddress"> {
  readonly token?: string | undefined;
  readonly headers?: Record<string, string>;
}

export interface Reply {
  readonly status: number;
  readonly headers: Record<string, string | undefined>;
  readonly text: string;
  readonly body: any;
}

export type TestApp = Awaited<ReturnType<typeof testApp>>;

interface Options {
  readonly env?: Record<string, string>;
  readonly resources?: Resources;
  readonly databaseUrl?: string;
  readonly options?: KernelOptions;
}

/** The application in this process with its own database; requests go through the whole kernel. */
export async function testApp({ env = {}, resources = allResources, databaseUrl, options }: Options = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), "fairlead-test-"));
  // Nothing listens at this port, so that no test waits for a real DNS server.
  const dns = { FAIRLEAD_DNS_SERVERS: "127.0.0.1:1" };
  const { FAIRLEAD_DATA_DIR: directory = dataDir } = env;
  const storages = `default=${directory}/repositories,second=${directory}/second`;
  const own = {
    FAIRLEAD_RATE_LIMITS: "off",
    FAIRLEAD_DATA_DIR: dataDir,
    FAIRLEAD_STORAGES: storages,
    ...dns,
    ...PATIENT,
  };
  const config = readConfig({ ...own, ...env });
  const logged: string[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      logged.push(chunk.toString());
      done();
    },
  });
  const services = openServices(config, databaseUrl ?? (await testDatabase()), pino(logOptions("info"), sink));
  const app = buildApp(services, resources, { constraints, ...options });
  // The injector adds listeners to a response; together with those of a pipeline they are more than ten.
  app.addHook("onRequest", (_request, reply, done) => {
    reply.raw.setMaxListeners(20);
    done();
  });
  await app.ready();

  const call = injector(app);
  return {
    app,
    services,
    /** The lines logged so far. */
    logged,
    call,
    get: (path: string, options?: Call) => call("GET", path, options),
    post: (path: string, options?: Call) => call("POST", path, options),
    put: (path: string, options?: Call) => call("PUT", path, options),
    delete: (path: string, options?: Call) => call("DELETE", path, options),
    makeUser: (columns: Partial<Insertable<Database["users"]>> = {}, scopes: readonly Scope[] = ["api"]) =>
      makeUser(services, columns, scopes),
    makeToken: (userId: number, columns: Partial<Insertable<Database["personal_access_tokens"]>> = {}) =>
      makeToken(services, userId, columns),
    async close() {
      await app.close();
      await services.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Makes requests to the application without a connection; a path of the API need not have its prefix. */
const injector =
  (app: Pick<ReturnType<typeof buildApp>, "inject">) =>
  async (
    method: NonNullable<InjectOptions["method"]>,
    path: string,
    { token, headers, ...rest }: Call = {},
  ): Promise<Reply> => {
    const url = path.startsWith("/") && !/^\/(api|-|uploads)(\/|$)/.test(path) ? `/api/v4${path}` : path;
    const answer = await app.inject({
      method,
      url,
      headers: { host: "localhost", ...(token !== undefined && { "private-token": token }), ...headers },
      ...rest,
    });
    const json = answer.headers["content-type"] === "application/json" && answer.payload !== "";
    return {
      status: answer.statusCode,
      headers: answer.headers as Record<string, string>,
      text: answer.payload,
      body: json ? JSON.parse(answer.payload) : undefined,
    };
  };

type Services = ReturnType<typeof openServices>;

/** Creates a user with a token, confirmed and active unless the columns say otherwise. */
async function makeUser(
  services: Services,
  columns: Partial<Insertable<Database["users"]>>,
  scopes: readonly Scope[],
): Promise<TestUser> {
  const username = columns.username ?? `user-${randomUUID().slice(0, 13)}`;
  const { write } = services.db;
  const { id: namespace_id } = await write
    .insertInto("namespaces")
    .values({ path: username, name: username })
    .returning("id")
    .executeTakeFirstOrThrow();
  const user = await write
    .insertInto("users")
    .values({
      username,
      name: `Name of ${username}`,
      email: `${username}@example.com`,
      confirmed_at: sql<string>`now()`,
      namespace_id,
      ...columns,
    })
    .returning(["id", "username", "email"])
    .executeTakeFirstOrThrow();
  const { id: tokenId, token } = await makeToken(services, user.id, { scopes: [...scopes] });
  return { ...user, token, tokenId };
}

async function makeToken(
  services: Services,
  userId: number,
  columns: Partial<Insertable<Database["personal_access_tokens"]>>,
) {
  const token = `flpat-${randomBytes(20).toString("base64url")}`;
  const { id } = await services.db.write
    .insertInto("personal_access_tokens")
    .values({
      user_id: userId,
      name: "test",
      scopes: ["api"],
      token_digest: Buffer.from(tokenDigest(token), "hex"),
      expires_at: sql<string>`(now() at time zone 'UTC')::date + 30`,
      ...columns,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return { id, token };
}
