import { parseArgs } from "node:util";
import { git, gitOutput } from "#test/support/git.ts";
import { type Client, newClient } from "./client.ts";
import { type User, type Project, startInstallation } from "./installation.ts";
import { intentsOf, problemsOf, type PushRecord } from "./journal.ts";

/**
 * Many clients push concurrently: to a branch each, all to one branch, and to many repositories. Acknowledged pushes
 * must have happened and be recorded once.
 */
const { values } = parseArgs({
  options: { pushes: { type: "string", default: "200" }, clients: { type: "string", default: "20" } },
});
const [pushes, clients] = [values.pushes, values.clients].map(Number) as [number, number];
for (const [name, count] of Object.entries({ pushes, clients })) {
  if (!Number.isInteger(count) || count < 1) throw new Error(`--${name} must be a whole number from 1`);
}

/** How often a client of the shared branch retries after losing a race. */
const MAX_ATTEMPTS = 200;

interface Pusher {
  readonly number: number;
  readonly user: User;
  readonly client: Client;
}

/** How clients share repositories and branches. */
interface Scenario {
  readonly name: string;
  /** The share of all pushes. */
  readonly share: number;
  readonly repositories: number;
  push(pusher: Pusher, projects: readonly Project[], count: number): Promise<Attempt[]>;
}

/** A refusal is expected if another client was faster. */
type Attempt = PushRecord & { readonly expected?: boolean };

const scenarios: readonly Scenario[] = [
  { name: "a branch each", share: 0.4, repositories: 1, push: ownBranch },
  { name: "one branch", share: 0.1, repositories: 1, push: sharedBranch },
  { name: "many repositories", share: 0.5, repositories: clients, push: ownBranch },
];

const installation = await startInstallation();
const problems: string[] = [];
let passed = 0;
try {
  const pushers = await Promise.all(Array.from({ length: clients }, (_, number) => newPusher(number)));
  for (const scenario of scenarios) await runScenario(scenario, pushers);
  for (const { client } of pushers) await client[Symbol.asyncDispose]();
} finally {
  await installation.close();
}
for (const problem of problems.slice(0, 20)) console.log(`✖ ${problem}`);
console.log(`pushes: ${passed} passed, ${problems.length} failed`);
process.exit(problems.length === 0 && passed > 0 ? 0 : 1);

async function newPusher(number: number): Promise<Pusher> {
  const user = await installation.createUser(`pusher-${number}`, ["write_repository"]);
  return { number, user, client: await newClient() };
}

async function runScenario({ name, share, repositories, push }: Scenario, pushers: readonly Pusher[]) {
  const projects: Project[] = [];
  for (let n = 0; n < repositories; n++) {
    const project = await installation.createProject(`${name} ${n}`);
    for (const { user } of pushers) await installation.addDeveloper(project, user);
    projects.push(project);
  }
  const wanted = Math.max(1, Math.round((pushes * share) / clients));
  const from = performance.now();
  const all = (await Promise.all(pushers.map((pusher) => push(pusher, projects, wanted)))).flat();
  const seconds = (performance.now() - from) / 1000;
  const [done, others] = [all.filter(isDone), all.filter((pushed) => !isDone(pushed))];
  const found = others.filter(({ expected }) => !expected).map(({ output }) => `a push failed: ${output}`);
  for (const project of projects) {
    found.push(
      ...(await problemsOf(
        installation,
        project,
        all.filter((pushed) => pushed.project === project),
      )),
    );
  }
  for (const project of projects) {
    const { length } = await intentsOf(installation, project);
    if (length > 0) found.push(`${length} pushes are not finished`);
  }
  problems.push(...found.map((problem) => `${name}: ${problem}`));
  passed += done.length;
  const lostRaces = others.length > 0 ? `, ${others.length} lost races` : "";
  const rate = `${(done.length / seconds).toFixed(1)} a second`;
  console.log(`${name}: ${done.length} of ${clients * wanted} pushes in ${seconds.toFixed(0)} s, ${rate}${lostRaces}`);
}

function isDone({ refs }: PushRecord): boolean {
  return refs.every(({ outcome }) => outcome === "done");
}

/** Pushes to a branch of its own, in one repository after another. */
async function ownBranch({ number, user, client }: Pusher, projects: readonly Project[], count: number) {
  const ref = `refs/heads/branch-${number}`;
  const pushed: Attempt[] = [];
  for (const [at, id] of (await client.commits(`own ${number}`, count)).entries()) {
    const project = projects[(number + at) % projects.length] as Project;
    const { outcomes, output } = await client.push(installation.address(project, user), [{ ref, id }]);
    pushed.push({ project, refs: [{ ref, id, outcome: outcomes.get(ref) ?? "unknown" }], output });
  }
  return pushed;
}

/** Pushes to `main`; after losing a race it fetches and commits on top. */
async function sharedBranch({ number, user, client }: Pusher, [project]: readonly Project[], count: number) {
  if (!project) throw new Error("There is no repository");
  const ref = "refs/heads/main";
  const cwd = client.directory;
  const address = installation.address(project, user);
  const pushed: Attempt[] = [];
  for (let n = 1; n <= count; n++) {
    for (let tried = 1; ; tried++) {
      const parent = await fetched(cwd, address, ref);
      const [id = ""] = await client.commits(`shared ${number} ${n}`, 1, parent === undefined ? {} : { parent });
      const { outcomes, output } = await client.push(address, [{ ref, id }]);
      const outcome = outcomes.get(ref) ?? "unknown";
      const expected = outcome === "refused" && tried < MAX_ATTEMPTS;
      pushed.push({ project, refs: [{ ref, id, outcome }], output, expected });
      if (!expected) break;
    }
  }
  return pushed;
}

async function fetched(cwd: string, address: string, ref: string): Promise<string | undefined> {
  const { code, stderr } = await git(["fetch", "--quiet", address, ref], { cwd });
  if (code === 0) return gitOutput(["rev-parse", "FETCH_HEAD"], { cwd });
  if (!stderr.includes("couldn't find remote ref")) throw new Error(`git fetch ended with ${code}: ${stderr}`);
  return undefined;
}
