import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { holdMinute } from "#test/support/minute.ts";

const LIMIT = 2 ** 20;
const TEXT = "x".repeat(LIMIT / 2);

/** What a user may store in the database in a minute, however few requests it takes. */
describe("content", () => {
  let app: TestApp;
  before(async () => {
    app = await testApp({ env: { FAIRLEAD_CONTENT_LIMIT_USER: String(LIMIT), FAIRLEAD_RATE_LIMITS: "on" } });
    holdMinute(app);
  });
  after(() => app.close());

  const makeProject = async ({ token }: TestUser, name = "Harbour"): Promise<number> => {
    const { body } = await app.post("/projects", { token, payload: { name, visibility: "public" } });
    return body.id;
  };
  const createIssue = (project: number, { token }: TestUser, description = TEXT) =>
    app.post(`/projects/${project}/issues`, { token, payload: { title: "Long", description } });

  test("is refused beyond the limit, with the time to wait, and others are not affected", async () => {
    const user = await app.makeUser();
    const project = await makeProject(user);
    assert.equal((await createIssue(project, user)).status, 201);
    const refused = await createIssue(project, user);
    assert.equal(refused.status, 429);
    assert.equal(refused.body.message, `You can store at most ${LIMIT} characters a minute; try again later`);
    assert.match(refused.headers["retry-after"] ?? "", /^\d+$/);
    const { token } = await app.makeToken(user.id);
    const note = await app.post(`/projects/${project}/issues/1/notes`, { token, payload: { body: "short" } });
    assert.equal(note.status, 429, "all tokens of a user draw on one budget");
    assert.equal((await app.get(`/projects/${project}/issues`, { token })).status, 200);
    assert.equal((await createIssue(project, await app.makeUser())).status, 201);
  });

  test("that a move copies counts, and a refused move changes nothing", async () => {
    const user = await app.makeUser();
    const [from, to] = [await makeProject(user, "From"), await makeProject(user, "To")];
    const { body: issue } = await createIssue(from, user, "short");
    await sql`insert into notes (issue_id, body) select ${issue.id}, ${TEXT} from generate_series(1, 3)`.execute(
      app.services.db.write,
    );
    const move = { token: user.token, payload: { to_project_id: to } };
    assert.equal((await app.post(`/projects/${from}/issues/1/move`, move)).status, 429);
    assert.deepEqual((await app.get(`/projects/${to}/issues`, user)).body, []);
    assert.equal((await app.get(`/projects/${from}/issues/1`, user)).body.state, "opened");
  });
});
