import { setTimeout as pause } from "node:timers/promises";
import { type Attack, flood, type Outcome, until } from "./attack.ts";
import type { Fixture, HostileName } from "./fixture.ts";
import { hostileApi, rekeyingConnections, silentSessions, silentSockets } from "./hostile-clients.ts";
import { commandsBelow } from "./measure.ts";

/** A path in the API of a hostile repository; `FIRST` in a query is its first commit. */
const pathIn = ({ hostile }: Fixture, name: HostileName, query: string) =>
  `/projects/${hostile[name].id}/repository/${query.replaceAll("FIRST", hostile[name].first)}`;

const floodOf =
  (name: HostileName, atOnce: number, ...queries: readonly string[]): Attack["run"] =>
  (fixture, deadline) =>
    flood(
      fixture,
      queries.map((query) => pathIn(fixture, name, query)),
      atOnce,
      deadline,
    );

/** Reads of a repository. */
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

/** Attacks by repositories, and by clients that do not read. */
export const REPOSITORY_ATTACKS: readonly Attack[] = [
  {
    name: "every read of every hostile repository",
    async run(fixture, deadline) {
      const names = Object.keys(fixture.hostile) as HostileName[];
      const paths = names.flatMap((name) => READS.map((read) => pathIn(fixture, name, read)));
      // Each at least once, however long that takes.
      const api = hostileApi(fixture);
      for (const path of paths) await api.send({ path }).catch(() => {});
      api.close();
      const { saw, problems } = await flood(fixture, paths, 4, deadline);
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
    async run(fixture, deadline) {
      const diffs = floodOf("a huge diff", 32, "commits/main/diff", "compare?from=FIRST&to=main");
      const { saw, problems } = await diffs(fixture, deadline);
      // Large files are not compared, so nothing should be refused.
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
    async run(fixture, deadline) {
      const { saw } = await flood(fixture, [largeFile(fixture)], 6, deadline);
      return { saw, problems: [] };
    },
  },
  { name: "JSON that nobody reads", run: (fixture, deadline) => unreadJson(fixture, deadline) },
  {
    name: "JSON that nobody reads for a minute",
    seconds: 80,
    async run(fixture, deadline) {
      const { saw, open } = await unreadJson(fixture, deadline);
      return { saw, problems: open > 0 ? [saw] : [] };
    },
  },
  {
    name: "clones that nobody reads",
    async run(fixture, deadline) {
      const body = `0032want ${await headOf(fixture)}\n00000009done\n`;
      const head = [
        `POST /${fixture.large.path}.git/git-upload-pack HTTP/1.1`,
        "Host: 127.0.0.1",
        "Content-Type: application/x-git-upload-pack-request",
        `Content-Length: ${body.length}`,
      ];
      const sockets = await silentSockets(fixture, 64, `${head.join("\r\n")}\r\n\r\n${body}`);
      await until(deadline);
      for (const socket of sockets) socket.destroy();
      return { saw: `${sockets.length} sockets`, problems: [] };
    },
  },
  {
    name: "silent SSH sessions",
    async run(fixture, deadline) {
      const command = `git-upload-pack '${fixture.large.path}.git'`;
      const held = await silentSessions(fixture, { connections: 4, sessions: 9, command });
      await until(deadline);
      const serving = commandsBelow(fixture.installation.server().pid).filter((each) =>
        each.startsWith("git upload-pack"),
      );
      held.close();
      // One may belong to the honest caller.
      const saw = `36 sessions hold ${serving.length} git processes`;
      return { saw, problems: serving.length > 1 ? [saw] : [] };
    },
  },
  {
    name: "key exchanges before signing in",
    async run(fixture, deadline) {
      const connections = 20;
      const held = await rekeyingConnections(fixture, connections, "curve25519-sha256");
      await until(deadline);
      held.close();
      const saw = `${held.exchanges()} key exchanges on ${connections} connections`;
      return { saw, problems: held.exchanges() > connections ? [saw] : [] };
    },
  },
];

/** A file close to the limit of JSON. */
const largeFile = ({ large }: Fixture) => `/projects/${large.id}/repository/files/json?ref=main`;

/** Sockets that request a large file as JSON and read nothing. */
async function unreadJson(fixture: Fixture, deadline: number): Promise<Outcome & { readonly open: number }> {
  const head = [`GET /api/v4${largeFile(fixture)} HTTP/1.1`, "Host: 127.0.0.1", "Connection: close"];
  const sockets = await silentSockets(fixture, 60, `${head.join("\r\n")}\r\n\r\n`);
  await until(deadline);
  // Writing reveals which connections the server has closed.
  for (const socket of sockets) socket.write("\r\n");
  await pause(500);
  const open = sockets.filter(({ closed }) => !closed).length;
  for (const socket of sockets) socket.destroy();
  return { saw: `${open} of ${sockets.length} connections still open`, problems: [], open };
}

async function headOf({ installation, large }: Fixture): Promise<string> {
  const { id } = await installation.call<{ id: string }>("GET", `/projects/${large.id}/repository/commits/main`);
  return id;
}
