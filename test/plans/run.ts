import { parseArgs } from "node:util";
import pg from "pg";
import { seededEngine } from "#bench/support/seeded.ts";
import { testApp } from "#test/support/app.ts";
import { reportSlowness } from "#test/support/machine.ts";
import { type Answered, asker } from "./ask.ts";
import { codeRequests } from "./code-requests.ts";
import { readContractPlans } from "./contract-plans.ts";
import { checkCoverage } from "./coverage.ts";
import { type Explain, explainer } from "./explain.ts";
import { identityRequests } from "./identity-requests.ts";
import { organizationRequests } from "./organization-requests.ts";
import { checkPlants, plants } from "./plants.ts";
import { platformRequests } from "./platform-requests.ts";
import { reportTimes } from "./report.ts";
import { BOUNDS, type Request } from "./request.ts";
import { readSample, readSizes } from "./sample.ts";
import { type Tally, tally } from "./tally.ts";

const { values } = parseArgs({
  options: {
    users: { type: "string", default: "1000000" },
    projects: { type: "string", default: "2000000" },
    tokens: { type: "string", default: "5000000" },
    issues: { type: "string" },
    only: { type: "string", default: "" },
  },
});
const users = Number(values.users);
const projects = Number(values.projects);

await using engine = await seededEngine(users, projects, Number(values.tokens), Number(values.issues ?? projects));
const client = new pg.Client(engine.url);
await client.connect();
const checks = tally();
const sample = await readSample(client, users);
const ofContracts = await readContractPlans(client);
const isWanted = ({ caller, path }: Pick<Request, "caller" | "path">) => `${caller} ${path}`.includes(values.only);
const requests = [identityRequests, organizationRequests, codeRequests, platformRequests]
  .flatMap((requestsOf) => requestsOf(sample))
  .concat(ofContracts.requests)
  .filter(isWanted);

const answered: Answered[] = [];
const app = await testApp({ databaseUrl: engine.url });
const ask = asker(app, checks);
for (const request of requests) answered.push(...(await ask(request)));
await app.close();
if (values.only === "") checkCoverage(answered, checks);

const explain = explainer(client);
await checkStatements(answered, explain, checks);
const planted = [...plants(sample), ...ofContracts.planted].filter(isWanted);
await checkPlants(client, planted, answered, checks);
const sizes = await readSizes(client);
await client.end();

reportTimes(answered, checks);
console.log(`rows: ${sizes}`);
reportSlowness();
console.log(`${answered.length} requests, ${explain.count()} statements, ${planted.length} planted, ${users} users`);
console.log(`plans: ${checks.passed()} passed, ${checks.failed()} failed`);
if (checks.failed() > 0) process.exitCode = 1;

/** Explains the statements of each request; the same statement with the same values counts once. */
async function checkStatements(answered: readonly Answered[], explain: Explain, { check }: Tally) {
  for (const { name, kind, statements } of answered) {
    if (BOUNDS[kind] === Infinity) continue;
    for (const statement of statements) {
      const before = explain.count();
      const { ms, pages, mode } = await explain(statement, BOUNDS[kind]);
      if (explain.count() === before) continue;
      check(
        ms <= BOUNDS[kind],
        () => `${name}: ${ms.toFixed(1)} ms, ${pages} pages, ${mode}\n    ${statement.text.trim()}`,
      );
    }
  }
}
