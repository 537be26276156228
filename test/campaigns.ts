/** A deep suite that measures, kills or floods, or judges more cases than the gate has time for. */
export interface Campaign {
  /** The name of its file in `docs/verification/`. */
  readonly name: string;
  readonly shows: string;
  /** The script in package.json. */
  readonly script: string;
  /** What the script is given, at full and at short size. */
  readonly full: string;
  readonly short: string;
  /** About how long both take on two cores. */
  readonly minutes: { readonly full: number; readonly short: number };
  /** What the output says besides how many passed: whole lines, global and multiline. */
  readonly figures?: RegExp;
}

/** What callers may see and do. */
const ACCESS: readonly Campaign[] = [
  {
    name: "matrix",
    shows: "every endpoint for every caller, scope and state, and that each weakened access rule is noticed",
    script: "test:matrix",
    ...{ full: "--full", short: "--one-in 8", minutes: { full: 120, short: 10 } },
    figures: /^(cells|mutants):.*$/gm,
  },
  {
    name: "levels",
    shows: "levels and visibility in random trees, memberships and shares against a plain model, and planted defects",
    script: "test:levels",
    ...{ full: "--cases 100000", short: "--cases 3000 --seed 1", minutes: { full: 30, short: 1 } },
    figures: /^seed.*$/gm,
  },
  {
    name: "links",
    shows: "links written and read by many at once against a plain model: none twice, no circle, nothing hidden",
    script: "test:links",
    ...{ full: "--steps 20000", short: "--steps 1500 --seed 1", minutes: { full: 4, short: 1 } },
    figures: /^seed.*$|^.* requests, of which.*$/gm,
  },
  {
    name: "links-planted",
    shows: "that defects in links are noticed",
    script: "test:links",
    ...{ full: "--plants", short: "--plants --seed 1", minutes: { full: 2, short: 1 } },
    figures: /^seed.*$|^.*not noticed.*$/gm,
  },
  {
    name: "feeds",
    shows: "feeds and calendars against a plain model while items, projects and profiles open and close",
    script: "test:feeds",
    ...{ full: "--steps 20000", short: "--steps 1500 --seed 1", minutes: { full: 5, short: 1 } },
    figures: /^seed.*$|^.* requests, of which.*$/gm,
  },
  {
    name: "feeds-planted",
    shows: "that defects in feeds are noticed",
    script: "test:feeds",
    ...{ full: "--plants", short: "--plants --seed 1", minutes: { full: 2, short: 2 } },
    figures: /^seed.*$|^.*not noticed.*$/gm,
  },
  {
    name: "revocation",
    shows: "what was revoked in one process is refused by another",
    script: "test:revocation",
    ...{ full: "--times 1000", short: "--times 10", minutes: { full: 10, short: 1 } },
    figures: /^each of.*$/gm,
  },
  {
    name: "rotation",
    shows: "tokens rotated by many at once and through kills: one is valid afterwards, and its caller has it",
    script: "test:rotation",
    ...{ full: "--times 100", short: "--times 4", minutes: { full: 10, short: 1 } },
    figures: /^whoever.*$/gm,
  },
];

/** Git over HTTP and SSH. */
const GIT: readonly Campaign[] = [
  {
    name: "pushes",
    shows: "20 clients that push at once: every acknowledged push is there, sound, and has one event",
    script: "test:pushes",
    ...{ full: "--pushes 2000", short: "--pushes 64 --clients 8", minutes: { full: 15, short: 1 } },
    figures: /^.* pushes in .*$/gm,
  },
  {
    name: "push-kill",
    shows:
      "the server killed in the middle of pushes: what was acknowledged is there, the rest completely or not at all",
    script: "test:push-kill",
    ...{ full: "--times 100", short: "--times 1", minutes: { full: 30, short: 1 } },
    figures: /^\d+ kills of a server.*$|^everything recorded.*$/gm,
  },
  {
    name: "moves",
    shows:
      "storage moves killed after every step, under load, with a job twice, from damaged repositories and to full disks",
    script: "test:moves",
    ...{ full: "--times 5 --moves 300 --late 100", short: "", minutes: { full: 40, short: 10 } },
    figures: /^(kills|load|late|flipped byte|too small a disk|a disk that fills up|a full disk): .*$/gm,
  },
  {
    name: "first-push",
    shows: "projects created and pushed to at once",
    script: "test:first-push",
    ...{ full: "--times 500", short: "--times 10", minutes: { full: 5, short: 1 } },
    figures: /^a project created.*$/gm,
  },
  {
    name: "deploy-keys",
    shows: "a deploy key that was removed, disabled or has expired opens nothing from then on",
    script: "test:deploy-keys",
    ...{ full: "--times 100", short: "--times 1", minutes: { full: 15, short: 1 } },
  },
  {
    name: "held-pushes",
    shows: "pushes held back while rights end in every possible way: no ref changes",
    script: "test:held-pushes",
    ...{ full: "--times 20", short: "--times 1", minutes: { full: 15, short: 1 } },
  },
  {
    name: "git-fuzz",
    shows: "mutated push requests and SSH keys: parsed or refused, never a crash",
    script: "test:git-fuzz",
    ...{ full: "--cases 1000000", short: "--cases 50000", minutes: { full: 10, short: 1 } },
    figures: /^seed.*$/gm,
  },
];

/** Hostile requests, kills and sizes. */
const LIMITS: readonly Campaign[] = [
  {
    name: "fuzz",
    shows: "valid, nearly valid and hostile requests: no 5xx, every response as documented, no long block",
    script: "test:fuzz",
    ...{ full: "--cases 200000", short: "--cases 40000 --seed 1", minutes: { full: 25, short: 4 } },
    figures: /^(fuzz: seed|(cases|statuses|speed|longest block of the event loop|causes):).*$/gm,
  },
  {
    name: "fuzz-planted",
    shows: "that the fuzzer finds planted defects",
    script: "test:fuzz",
    ...{ full: "--plants", short: "--plants", minutes: { full: 6, short: 5 } },
  },
  {
    name: "grouping",
    shows: "alerts reported, ended and worked on by many at once, against a plain model: one open alert a fingerprint",
    script: "test:grouping",
    ...{ full: "--steps 20000", short: "--steps 2000 --seed 1", minutes: { full: 2, short: 1 } },
    figures: /^seed.*$|^.* requests, of which.*$/gm,
  },
  {
    name: "grouping-planted",
    shows: "that defects in grouping are noticed",
    script: "test:grouping",
    ...{ full: "--plants", short: "--plants --seed 1", minutes: { full: 2, short: 1 } },
    figures: /^seed.*$|^.*not noticed.*$/gm,
  },
  {
    name: "alert-payloads",
    shows: "random and damaged payloads of alerts: each is read or refused, and what is read fits into the database",
    script: "test:alert-payloads",
    ...{ full: "--cases 200000", short: "--cases 20000", minutes: { full: 2, short: 1 } },
    figures: /^seed.*$/gm,
  },
  {
    name: "exhaustion",
    shows: "attacks on each resource: the delay of an honest caller, memory, blocks of the event loop",
    script: "test:exhaustion",
    ...{ full: "--rounds 3 --slow", short: "--seconds 5", minutes: { full: 40, short: 7 } },
    figures: /^times are divided.*$|^attack .*?^longest block.*?$/gms,
  },
  {
    name: "exhaustion-planted",
    shows: "that each attack succeeds without the bound that prevents it",
    script: "test:exhaustion",
    ...{ full: "--plants", short: "--plants --seconds 5", minutes: { full: 15, short: 12 } },
  },
  {
    name: "plans",
    shows:
      "every list, filter and search at size: 100 ms a statement, at most 12 statements, and missing indexes noticed",
    script: "test:plans",
    full: "--users 100000 --projects 20000 --tokens 100000 --issues 1000000",
    short: "--users 50000 --projects 40000 --tokens 100000 --issues 200000",
    minutes: { full: 90, short: 8 },
    figures: /^requests bound.*?(?=^rows:)|^(rows:|times are divided|\d+ requests,)[^\n]*$/gms,
  },
  {
    name: "faults",
    shows: "processes and PostgreSQL killed, paused and cut off under load: every response is true afterwards",
    script: "test:faults",
    ...{ full: "--times 20", short: "--times 1", minutes: { full: 40, short: 2 } },
    figures: /^.* times in .*$/gm,
  },
  {
    name: "log-destination",
    shows: "the log on a full disk and into a pipe that nobody reads: requests are answered, lost lines counted",
    script: "test:log-destination",
    ...{ full: "--times 20", short: "--times 1 --requests 5000", minutes: { full: 15, short: 2 } },
    figures: /^.*stopped within.*$/gm,
  },
  {
    name: "timed",
    shows: "the test cases that judge time, CPU or memory",
    script: "test",
    ...{ full: "--timed", short: "--timed", minutes: { full: 8, short: 3 } },
  },
];

/** Documents and clients. */
const DOCUMENTS: readonly Campaign[] = [
  {
    name: "first-use",
    shows: "README.md followed word for word from a clone",
    script: "test:first-use",
    ...{ full: "", short: "", minutes: { full: 2, short: 1 } },
  },
  {
    name: "contributing",
    shows: "the six steps of CONTRIBUTING.md make a resource",
    script: "test:contributing",
    ...{ full: "", short: "", minutes: { full: 2, short: 1 } },
  },
  {
    name: "new-kind",
    shows: "what a new kind of item costs: notes, emoji, subscriptions and to-dos by declaring it",
    script: "test:new-kind",
    ...{ full: "", short: "", minutes: { full: 1, short: 1 } },
    figures: /^a new kind: .*$/gm,
  },
  {
    name: "clients",
    shows: "python-gitlab, ruby-gitlab and gitbeaker against a running server",
    script: "test:clients",
    ...{ full: "", short: "", minutes: { full: 2, short: 1 } },
  },
  {
    name: "proxies",
    shows: "behind nginx and Caddy as docs/guides/proxies.md says, and that each line of it is needed",
    script: "test:proxies",
    ...{ full: "", short: "", minutes: { full: 2, short: 1 } },
  },
  {
    name: "alertmanager",
    shows: "alerts from Debian's Alertmanager, with the server away, refusing and back: none is missing",
    script: "test:alertmanager",
    ...{ full: "", short: "", minutes: { full: 1, short: 1 } },
  },
  {
    name: "backup",
    shows: "docs/guides/backup.md followed: every acknowledged push is there after a restore",
    script: "test:backup",
    ...{ full: "", short: "", minutes: { full: 1, short: 1 } },
  },
];

/** Too small for the goals, which apply to the usual sizes. */
const SMALL = "--report --users 10k --projects 1k --tokens 10k --issues 20k --rounds 1 --seconds 1";

const bench = (name: string, shows: string, minutes: number, short = SMALL): Campaign => ({
  name: `bench-${name}`,
  shows,
  script: "bench",
  ...{ full: name, short: `${name} ${short}`, minutes: { full: minutes, short: 1 } },
  figures: new RegExp(`^(short|${name}): .*$`, "gm"),
});

const RATES: readonly Campaign[] = [
  bench("startup", "the time from the command to the first response", 1),
  bench("idle", "memory and CPU of an installation that nobody uses", 6, "--seconds 60"),
  bench("sign-in", "sign-ins a second", 1),
  bench("iids", "issues numbered a second in one project, against a bare counter", 1),
  bench("jobs", "jobs a second, against bare pg-boss", 2),
  bench("keyset", "pages of a list by keyset", 4),
  // A page 500 needs as many issues.
  bench("keyset-issues", "pages of issues by keyset", 8, "--report --users 10k --projects 1k --issues 1m --rounds 1"),
  bench("get-user", "reads of a user a second", 2),
  bench("list-users", "lists of users a second", 2),
  bench("clone", "clones a second", 2),
  bench("alerts", "alerts a second, against one statement for each of the same rows in pgbench", 2),
  bench("moves", "the move of a repository of one GiB, against git clone --mirror", 5, "--rounds 1"),
];

export const CAMPAIGNS: readonly Campaign[] = [...ACCESS, ...GIT, ...LIMITS, ...DOCUMENTS, ...RATES];
