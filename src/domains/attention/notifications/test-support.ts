import assert from "node:assert/strict";
import { VISIBILITIES } from "#access/roles.ts";
import { type Post, startPost } from "#domains/foundation/mails/test-support.ts";
import { rowInserter } from "#domains/organization/members/test-support.ts";
import type { TestUser } from "#test/support/app.ts";
import type { Received } from "#test/support/smtp.ts";

type Role = "guest" | "planner" | "developer";

/**
 * An application that mails, with functions that write in its projects and read what arrived. Each write waits for its
 * jobs, unless the mail server holds them up: who is told is decided when they run, which may be after the next write.
 */
export async function newsroom(post?: Post, { isHeldUp = false } = {}) {
  const { app, smtp, settled, close } = post ?? (await startPost());
  const insert = rowInserter(app);
  const owner = await app.makeUser();

  /** A private project in a private group, with the owner; members of the group are added as needed. */
  async function place(given: object = {}) {
    const group = await insert.group(undefined, { visibility: VISIBILITIES.private, ...given });
    await insert.member(owner, { group_id: group }, "owner");
    const project = await insert.project(group, { visibility: VISIBILITIES.private, ...given });
    const member = async (role: Role = "developer", columns = {}) => {
      const user = await app.makeUser(columns);
      await insert.member(user, { group_id: group }, role);
      return user;
    };
    return { group, project, member, issues: `/projects/${project}/issues`, epics: `/groups/${group}/epics` };
  }

  return {
    ...{ app, smtp, settled, close, insert, owner, place },
    async create(path: string, payload: object = {}, { token }: TestUser = owner) {
      const { status, body, text } = await app.post(path, { token, payload: { title: "Leak", ...payload } });
      assert.equal(status, 201, text);
      if (!isHeldUp) await settled();
      return body;
    },
    async change(path: string, payload: object, { token }: TestUser = owner) {
      const { status, text } = await app.put(path, { token, payload });
      assert.equal(status, 200, text);
      if (!isHeldUp) await settled();
    },
    async level(level: string, { token }: TestUser, path = "") {
      const { status, text } = await app.put(`${path}/notification_settings`, { token, payload: { level } });
      assert.equal(status, 200, text);
    },
    /** The mails to some people that arrived since they were last asked for, once all jobs have run. */
    async mails(...people: readonly TestUser[]): Promise<Received[]> {
      await settled();
      const addresses = new Set(people.map(({ email }) => email));
      const [theirs, others] = [smtp.received, smtp.received].map((all, at) =>
        all.filter(({ to }) => to.some((address) => addresses.has(address)) === (at === 0)),
      );
      smtp.received.splice(0, smtp.received.length, ...(others ?? []));
      return theirs ?? [];
    },
    /** How many mails each person got since they were last asked for. */
    async counts(...people: readonly TestUser[]): Promise<number[]> {
      const found = await this.mails(...people);
      return people.map(({ email }) => found.filter(({ to }) => to.includes(email)).length);
    },
  };
}
export type Newsroom = Awaited<ReturnType<typeof newsroom>>;
