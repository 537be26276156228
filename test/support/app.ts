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
import { resources as allResources } from "#resources/index.ts";
import { openServices } from "#services.ts";
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

/** The application in this process, on this process's own database; requests go through the whole kernel. */
export async function testApp({ env = {}, resources = allResources, databaseUrl, options }: Options = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), "fairlead-test-"));
  // Nothing listens at this port, so that no test waits for a DNS server of the world outside.
  const dns = { FAIRLEAD_DNS_SERVERS: "127.0.0.1:1" };
  const config = readConfig({ FAIRLEAD_RATE_LIMITS: "off", FAIRLEAD_DATA_DIR: dataDir, ...dns, ...env });
  const logged: string[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      logged.push(chunk.toString());
      done();
    },
  });
  const services = openServices(
    config,
    databaseUrl ?? (await testDatabase()),
    pino({ level: "info", base: null }, sink),
  );
  const app = buildApp(services, resources, options);
  await app.ready();

  const call = async (
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

  return {
    app,
    services,
    /** Every line that was logged so far. */
    logged,
    call,
    get: (path: string, given?: Call) => call("GET", path, given),
    post: (path: string, given?: Call) => call("POST", path, given),
    put: (path: string, given?: Call) => call("PUT", path, given),
    delete: (path: string, given?: Call) => call("DELETE", path, given),
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

type Services = ReturnType<typeof openServices>;

/** A user of the test's own, confirmed and active unless told otherwise, with a token. */
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
