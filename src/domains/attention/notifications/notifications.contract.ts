import { randomInt } from "node:crypto";
import type { Contract, FixtureContext } from "#test/contract.ts";
import { line, READ, WRITE } from "#test/matrix/line.ts";
import { insertForId, project, word } from "#test/matrix/rows.ts";

/** What the link in a mail to a new user about a new issue says. */
async function unsubscription({ db, derive, group, makeUser, once }: FixtureContext): Promise<string> {
  const project_id = await once("project of mails", async () =>
    insertForId(db, "projects", project(await group("of mails"), { visibility: "public" })),
  );
  const times = { created_at: new Date().toISOString(), updated_at: new Date().toISOString() };
  const issue = await insertForId(db, "issues", {
    ...{ project_id, iid: randomInt(1, 2 ** 30), title: word(), state: "opened" },
    ...{ issue_type: "issue", confidential: false, ...times },
  });
  const subject = `${(await makeUser()).id}-issue-${issue}`;
  return `${subject}-${(await derive(`unsubscribe ${subject}`)).toString("base64url")}`;
}

const SEND = { send: "token={unsubscription}" } as const;

export const contract: Contract = {
  tables: ["mail_counts"],
  lines: {
    "GET /-/unsubscribe": line(200, 200, 200, READ, SEND),
    "POST /-/unsubscribe": line(200, 200, 200, WRITE, { ...SEND, unaudited: "by oneself" }),
  },
  values: { unsubscription },
};
