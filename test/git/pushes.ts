import { parseArgs } from "node:util";
import { git, gitOutput } from "#test/support/git.ts";
import { type Client, newClient } from "./client.ts";
import { type Person, type Project, startInstallation } from "./installation.ts";
import { intentsOf, problemsOf, type Pushed } from "./journal.ts";

/**
 * Many push at the same time: to a branch each of one repository, all to one branch of it, and to many repositories.
 * What they were told is there afterwards, and told of once.
 */
const { values } = parseArgs({
  options: { pushes: { type: "string", default: "200" }, clients: { type: "string", default: "20" } },
});
const [pushes, clients] = [values.pushes, values.clients].map(Number) as [number, number];
for (const [name, count] of Object.entries({ pushes, clients })) {
  if (!Number.isInteger(count) || count < 1) throw new Error(`--${name} must be a whole number from 1`);
}

/** How often one who shares a branch begins again before they give up; each time somebody else was quicker. */
const MOST_TRIES = 200;

interface Pusher {
  readonly number: number;
  readonly person: Person;
  readonly client: Client;
}

/** One way to share the work: which repositories there are and how a client pushes the next commit. */
interface Way {
  readonly name: string;
  /** Of all pushes. */
  readonly part: number;
  readonly repositories: number;
  push(pusher: Pusher, projects: readonly Project[], count: number): Promise<Tried[]>;
}

/** Refusals are expected only where somebody else was quicker. */
type Tried = Pushed & { readonly expected?: boolean };

const ways: readonly Way[] = [
  { name: "a branch each", part: 0.4, repositories: 1, push: ownBranch },
  { name: "one branch", part: 0.1, repositories: 1, push: sharedBranch },
  { name: "many repositories", part: 0.5, repositories: clients, push: ownBranch },
];

const installation = await startInstallation();
const problems: string[] = [];
let passed = 0;
try {
  const pushers = await Promise.all(Array.from({ length: clients }, (_, number) => newPusher(number)));
  for (const way of ways) await tryWay(way, pushers);
  for (const { client } of pushers) await client[Symbol.asyncDispose]();
} finally {
  await installation.close();
}
for (const problem of problems.slice(0, 20)) console.log(`✖ ${problem}`);
console.log(`pushes: ${passed} passed, ${problems.length} failed`);
process.exit(problems.length === 0 && passed > 0 ? 0 : 1);

async function newPusher(number: number): Promise<Pusher> {
  const person = await installation.newPerson(`pusher-${number}`, ["write_repository"]);
  return { number, person, client: await newClient() };
}

async function tryWay({ name, part, repositories, push }: Way, pushers: readonly Pusher[]) {
  const projects: Project[] = [];
  for (let n = 0; n < repositories; n++) {
    const project = await installation.newProject(`${name} ${n}`);
    for (const { person } of pushers) await installation.addDeveloper(project, person);
    projects.push(project);
  }
  const wanted = Math.max(1, Math.round((pushes * part) / clients));
  const from = performance.now();
  const all = (await Promise.all(pushers.map((pusher) => push(pusher, projects, wanted)))).flat();
  const seconds = (performance.now() - from) / 1000;
  const [done, others] = [all.filter(isDone), all.filter((pushed) => !isDone(pushed))];
  const found = others.filter(({ expected }) => !expected).map(({ said }) => `a push was not taken: ${said}`);
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
    if (length > 0) found.push(`${length} pushes are not settled`);
  }
  problems.push(...found.map((problem) => `${name}: ${problem}`));
  passed += done.length;
  const begunAgain = others.length > 0 ? `, ${others.length} that somebody else was quicker than` : "";
  const rate = `${(done.length / seconds).toFixed(1)} a second`;
  console.log(`${name}: ${done.length} of ${clients * wanted} pushes in ${seconds.toFixed(0)} s, ${rate}${begunAgain}`);
}

function isDone({ refs }: Pushed): boolean {
  return refs.every(({ outcome }) => outcome === "done");
}

/** Each on a branch of their own, in one repository after the other. */
async function ownBranch({ number, person, client }: Pusher, projects: readonly Project[], count: number) {
  const ref = `refs/heads/branch-${number}`;
  const pushed: Tried[] = [];
  for (const [at, id] of (await client.commits(`own ${number}`, count)).entries()) {
    const project = projects[(number + at) % projects.length] as Project;
    const { outcomes, said } = await client.push(installation.address(project, person), [{ ref, id }]);
    pushed.push({ project, refs: [{ ref, id, outcome: outcomes.get(ref) ?? "unknown" }], said });
  }
  return pushed;
}

/** All on `main`: whoever finds it moved on fetches it and puts their commit on top. */
async function sharedBranch({ number, person, client }: Pusher, [project]: readonly Project[], count: number) {
  if (!project) throw new Error("There is no repository");
  const ref = "refs/heads/main";
  const cwd = client.directory;
  const address = installation.address(project, person);
  const pushed: Tried[] = [];
  for (let n = 1; n <= count; n++) {
    for (let tried = 1; ; tried++) {
      const parent = await fetched(cwd, address, ref);
      const [id = ""] = await client.commits(`shared ${number} ${n}`, 1, parent === undefined ? {} : { parent });
      const { outcomes, said } = await client.push(address, [{ ref, id }]);
      const outcome = outcomes.get(ref) ?? "unknown";
      const expected = outcome === "refused" && tried < MOST_TRIES;
      pushed.push({ project, refs: [{ ref, id, outcome }], said, expected });
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
