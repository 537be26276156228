import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Insertable } from "kysely";
import type { Database } from "#db/types.ts";
import { rowInserter } from "#domains/organization/members/test-support.ts";
import type { TestApp, TestUser } from "#test/support/app.ts";
import { makeCertificate } from "#test/support/certificate.ts";

/** A private project, its Maintainer and the path of its clusters. */
export interface ClusterProject {
  readonly id: number;
  readonly groupId: number;
  readonly maintainer: TestUser;
  readonly clusters: string;
}

export const NOWHERE = 4503599627370495;
export const API_URL = "https://k8s.example.com";
export const TOKEN = "canary-token-of-a-cluster";

/** A certificate for 127.0.0.1 and its key, as PEM. */
export function newCertificate(): { certificate: string; key: string } {
  const directory = mkdtempSync(join(tmpdir(), "fairlead-certificate-"));
  try {
    const { certificate, key } = makeCertificate(directory, "127.0.0.1");
    return { certificate: readFileSync(certificate, "utf8"), key: readFileSync(key, "utf8") };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Creates projects and clusters for a test. */
export function clustersOn(app: TestApp) {
  const insert = rowInserter(app);

  async function clusterProject(maintainer?: TestUser): Promise<ClusterProject> {
    const user = maintainer ?? (await app.makeUser());
    const { id, groupId, address, of } = await insert.place("project");
    await insert.member(user, of, "maintainer");
    return { id, groupId, maintainer: user, clusters: `${address}/clusters` };
  }

  const post = (
    { clusters, maintainer }: ClusterProject,
    { platform, ...fields }: { platform?: object; [name: string]: unknown } = {},
    { token } = maintainer,
  ) =>
    app.post(`${clusters}/user`, {
      token,
      payload: {
        name: "Main",
        platform_kubernetes_attributes: { api_url: API_URL, token: TOKEN, ...platform },
        ...fields,
      },
    });

  return {
    ...insert,
    clusterProject,
    post,
    put: ({ clusters, maintainer }: ClusterProject, id: number, payload: object, { token } = maintainer) =>
      app.put(`${clusters}/${id}`, { token, payload }),
    get: ({ clusters, maintainer }: ClusterProject, id: number, { token } = maintainer) =>
      app.get(`${clusters}/${id}`, { token }),
    list: ({ clusters, maintainer }: ClusterProject, query = "", { token } = maintainer) =>
      app.get(`${clusters}${query}`, { token }),
    async added(project: ClusterProject, fields: Parameters<typeof post>[1] = {}) {
      const { status, body, text } = await post(project, fields);
      assert.equal(status, 201, text);
      return body;
    },
    /** A cluster of another provider, which no request creates. */
    async provided(project: ClusterProject, columns: Partial<Insertable<Database["clusters"]>> = {}): Promise<number> {
      const row = { provider_type: "gcp" as const, name: "provided", api_url: API_URL, ...columns };
      const values = { project_id: project.id, user_id: project.maintainer.id, ...row };
      return (
        await app.services.db.write.insertInto("clusters").values(values).returning("id").executeTakeFirstOrThrow()
      ).id;
    },
  };
}
