import { setTimeout as pause } from "node:timers/promises";
import { hostileApi, rekeyingConnections, silentSessions, silentSockets } from "./hostile-clients.ts";
import { commandsBelow } from "./measure.ts";
import type { HostileName, World } from "./world.ts";

/** What somebody does to a server while honest callers go on; it ends by itself at the deadline. */
export interface Attack {
  readonly name: string;
  /** Seconds that it takes at least, where its bound acts late; it is then left out of a short run. */
  readonly seconds?: number;
  /** Megabytes that the git processes of the server may hold together meanwhile. */
  readonly maxGitMegabytes?: number;
  run(world: World, deadline: number): Promise<Outcome>;
}

/** What the attacker saw, and what of it should not have been so. */
export interface Outcome {
  readonly saw: string;
  readonly problems: readonly string[];
}

/** Requests that an attack sends at most. */
const MAX_REQUESTS = 2_000;
/** The budget of JSON made from a repository, a file as JSON aside. */
const MAX_ANSWER_BYTES = 4.5 * 2 ** 20;

/** Asks for paths by turns, so many at once, until the deadline. */
async function flood(world: World, paths: readonly string[], atOnce: number, deadline: number): Promise<Outcome> {
  const api = hostileApi(world);
  const statuses = new Map<number, number>();
  let [asked, most] = [0, 0];
  const lane = async () => {
    while (Date.now() < deadline && asked < MAX_REQUESTS) {
      const path = paths[asked++ % paths.length] ?? "";
      const { status, bytes } = await api.get(path).catch(() => ({ status: 0, bytes: 0 }));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      most = Math.max(most, bytes);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  api.close();
  const counted = [...statuses].map(([status, count]) => `${count} × ${status || "nothing"}`).join(", ");
  const largest = `largest answer ${(most / 2 ** 20).toFixed(1)} MiB`;
  return { saw: `${counted}, ${largest}`, problems: most > MAX_ANSWER_BYTES ? [largest] : [] };
}

/** The address of something in a hostile repository, whose first commit a query calls `FIRST`. */
const pathIn = ({ hostile }: World, name: HostileName, query: string) =>
  `/projects/${hostile[name].id}/repository/${query.replaceAll("FIRST", hostile[name].first)}`;

const floodOf =
  (name: HostileName, atOnce: number, ...queries: readonly string[]): Attack["run"] =>
  (world, deadline) =>
    flood(
      world,
      queries.map((query) => pathIn(world, name, query)),
      atOnce,
      deadline,
    );

/** What can be read of any repository. */
const READS = [
  "commits?per_page=100",
  "commits?per_page=100&with_stats=true&trailers=true",
  "commits/main",
  "commits/main/diff?per_page=100",
  "commits/main/refs?per_page=100",
  "commits/main/sequence",
  "compare?from=FIRST&to=main",
  "compare?from=FIRST&to=main&straight=true",
  "contributors",
  "branches?per_page=100",
  "branches?per_page=100&sort=updated_desc",
  "branches?search=a",
  "tags?per_page=100",
  "tags?per_page=100&order_by=version",
  "merge_base?refs[]=main&refs[]=FIRST",
  "tree?per_page=100",
  "tree?per_page=100&page=400",
  "tree?per_page=100&recursive=true",
  "tree?per_page=100&pagination=keyset",
  "files/table.txt?ref=main",
  "files/table.txt/raw?ref=main",
  "files/table.txt/blame?ref=main",
  "files/turns.txt/blame?ref=main",
  "files/deep.txt/blame?ref=main",
];

export const ATTACKS: readonly Attack[] = [
  {
    name: "every read of every hostile repository",
    async run(world, deadline) {
      const names = Object.keys(world.hostile) as HostileName[];
      const paths = names.flatMap((name) => READS.map((read) => pathIn(world, name, read)));
      // Each once at least, however long that takes.
      const api = hostileApi(world);
      for (const path of paths) await api.get(path).catch(() => {});
      api.close();
      const { saw, problems } = await flood(world, paths, 4, deadline);
      return { saw: `${paths.length} once, then ${saw}`, problems };
    },
  },
  { name: "comparing long messages", run: floodOf("long messages", 6, "compare?from=FIRST&to=main") },
  { name: "listing long messages", run: floodOf("long messages", 6, "commits?per_page=100") },
  {
    name: "blaming",
    run: floodOf("a heavy blame", 12, "files/deep.txt/blame?ref=main", "files/turns.txt/blame?ref=main"),
  },
  { name: "blaming a huge ancestor", run: floodOf("a huge ancestor", 32, "files/table.txt/blame?ref=main") },
  {
    name: "huge diffs",
    maxGitMegabytes: 512,
    async run(world, deadline) {
      const diffs = floodOf("a huge diff", 32, "commits/main/diff", "compare?from=FIRST&to=main");
      const { saw, problems } = await diffs(world, deadline);
      // Large files are not compared, so that nothing needs to be refused.
      return { saw, problems: saw.includes("413") ? [...problems, saw] : problems };
    },
  },
  {
    name: "huge trees",
    run: floodOf(
      "a wide tree",
      6,
      "tree?per_page=100",
      "tree?per_page=100&page=400",
      "tree?per_page=100&recursive=true&page=100",
    ),
  },
  { name: "a huge file name", run: floodOf("a huge name", 6, "tree", "tree?recursive=true", "commits/main/diff") },
  {
    name: "large files as JSON",
    async run(world, deadline) {
      const { saw } = await flood(world, [largeFile(world)], 6, deadline);
      return { saw, problems: [] };
    },
  },
  { name: "JSON that nobody reads", run: (world, deadline) => unreadJson(world, deadline) },
  {
    name: "JSON that nobody reads for a minute",
    seconds: 80,
    async run(world, deadline) {
      const { saw, open } = await unreadJson(world, deadline);
      return { saw, problems: open > 0 ? [saw] : [] };
    },
  },
  {
    name: "clones that nobody reads",
    async run(world, deadline) {
      const body = `0032want ${await headOf(world)}\n00000009done\n`;
      const head = [
        `POST /${world.large.path}.git/git-upload-pack HTTP/1.1`,
        "Host: 127.0.0.1",
        "Content-Type: application/x-git-upload-pack-request",
        `Content-Length: ${body.length}`,
      ];
      const sockets = await silentSockets(world, 64, `${head.join("\r\n")}\r\n\r\n${body}`);
      await until(deadline);
      for (const socket of sockets) socket.destroy();
      return { saw: `${sockets.length} sockets`, problems: [] };
    },
  },
  {
    name: "silent SSH sessions",
    async run(world, deadline) {
      const command = `git-upload-pack '${world.large.path}.git'`;
      const held = await silentSessions(world, { connections: 4, sessions: 9, command });
      await until(deadline);
      const serving = commandsBelow(world.installation.server().pid).filter((each) =>
        each.startsWith("git upload-pack"),
      );
      held.close();
      // The honest caller may be fetching just then.
      const saw = `36 sessions hold ${serving.length} git processes`;
      return { saw, problems: serving.length > 1 ? [saw] : [] };
    },
  },
  {
    name: "key exchanges before signing in",
    async run(world, deadline) {
      const connections = 20;
      const held = await rekeyingConnections(world, connections, "curve25519-sha256");
      await until(deadline);
      held.close();
      const saw = `${held.exchanges()} key exchanges on ${connections} connections`;
      return { saw, problems: held.exchanges() > connections ? [saw] : [] };
    },
  },
];

/** A file of nearly as many bytes as JSON carries. */
const largeFile = ({ large }: World) => `/projects/${large.id}/repository/files/json?ref=main`;

/** Sockets that ask for a large file as JSON and read nothing of it. */
async function unreadJson(world: World, deadline: number): Promise<Outcome & { readonly open: number }> {
  const head = [`GET /api/v4${largeFile(world)} HTTP/1.1`, "Host: 127.0.0.1", "Connection: close"];
  const sockets = await silentSockets(world, 60, `${head.join("\r\n")}\r\n\r\n`);
  await until(deadline);
  // What was closed at the other end is found out by writing to it.
  for (const socket of sockets) socket.write("\r\n");
  await pause(500);
  const open = sockets.filter(({ closed }) => !closed).length;
  for (const socket of sockets) socket.destroy();
  return { saw: `${open} of ${sockets.length} connections still open`, problems: [], open };
}

async function headOf({ installation, large }: World): Promise<string> {
  const { id } = await installation.call<{ id: string }>("GET", `/projects/${large.id}/repository/commits/main`);
  return id;
}

const until = (deadline: number) => pause(Math.max(deadline - Date.now(), 0));
