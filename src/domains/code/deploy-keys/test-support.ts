import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { sql } from "kysely";
import { readSshKey } from "#lib/ssh-keys.ts";
import { rowInserter } from "#domains/organization/members/test-support.ts";
import type { TestApp, TestUser } from "#test/support/app.ts";
import { newSshKey } from "#test/support/ssh-keys.ts";

/** A private project, its Maintainer and the path of its deploy keys. */
export interface KeyProject {
  readonly id: number;
  readonly maintainer: TestUser;
  readonly keys: string;
}

/** Creates projects and deploy keys for a test. */
export function keysOn(app: TestApp) {
  const insert = rowInserter(app);

  async function keyProject(maintainer?: TestUser): Promise<KeyProject> {
    const user = maintainer ?? (await app.makeUser());
    const { id, address, of } = await insert.place("project");
    await insert.member(user, of, "maintainer");
    return { id, maintainer: user, keys: `${address}/deploy_keys` };
  }

  return {
    ...insert,
    keyProject,
    post: (project: KeyProject, payload: object, { token } = project.maintainer) =>
      app.post(project.keys, { token, payload }),
    /** Adds a new key to a project. */
    async added(project: KeyProject, fields: object = {}) {
      const { status, body, text } = await app.post(project.keys, {
        token: project.maintainer.token,
        payload: { title: "Ship", key: newSshKey(), ...fields },
      });
      assert.equal(status, 201, text);
      return body;
    },
    /** How many rows a key has, and how many projects enabled it. */
    async stored(line: string) {
      const { rows } = await sql<{ keys: number; links: number }>`
        select count(distinct k.id) as keys, count(d.id) as links
        from keys k left join deploy_keys_projects d on d.key_id = k.id
        where k.fingerprint_sha256 = ${fingerprintOf(line)}`.execute(app.services.db.write);
      return rows[0];
    },
  };
}

export function fingerprintOf(line: string): string {
  const read = readSshKey(line);
  assert.ok("key" in read);
  return read.key.fingerprintSha256;
}

export const TAKEN = ["has already been taken"];

const CURVES: Readonly<Record<string, string>> = { "P-256": "nistp256", "P-384": "nistp384", "P-521": "nistp521" };

export function rsaKey(modulusLength: number): string {
  const { n = "", e = "" } = generateKeyPairSync("rsa", { modulusLength }).publicKey.export({ format: "jwk" });
  return line("ssh-rsa", Buffer.from(e, "base64url"), Buffer.concat([Buffer.of(0), Buffer.from(n, "base64url")]));
}

export const ecdsaKey = (namedCurve: string): string => {
  const curve = CURVES[namedCurve] ?? "";
  return line(`ecdsa-sha2-${curve}`, Buffer.from(curve), pointOn(namedCurve));
};

/** Keys of security tokens, one of each kind, for the application that OpenSSH names. */
export function onTokens(): string[] {
  const application = Buffer.from("ssh:");
  const { x = "" } = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" });
  return [
    line("sk-ssh-ed25519@openssh.com", Buffer.from(x, "base64url"), application),
    line("sk-ecdsa-sha2-nistp256@openssh.com", Buffer.from("nistp256"), pointOn("P-256"), application),
  ];
}

function pointOn(namedCurve: string): Buffer {
  const { x = "", y = "" } = generateKeyPairSync("ec", { namedCurve }).publicKey.export({ format: "jwk" });
  return Buffer.concat([Buffer.of(4), Buffer.from(x, "base64url"), Buffer.from(y, "base64url")]);
}

const line = (kind: string, ...fields: readonly Buffer[]): string =>
  `${kind} ${Buffer.concat([Buffer.from(kind), ...fields].map(field)).toString("base64")}`;

function field(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
