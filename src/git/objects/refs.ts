import type { Repository } from "#git/storages/storage.ts";
import { allLines, linesOf } from "./output.ts";

export interface Ref {
  /** Without `refs/heads/` or `refs/tags/`. */
  readonly name: string;
  readonly id: string;
}

type RefKind = "heads" | "tags";

/** What `for-each-ref` sorts by; `creatordate` looks at each object, the others at names alone. */
export type RefOrder = `${"" | "-"}${"refname" | "creatordate" | "committerdate" | "version:refname"}`;

interface RefList {
  readonly kind: RefKind;
  readonly order: RefOrder;
  /** Whether a name is wanted; all are, if left out. */
  readonly wants?: ((name: string) => boolean) | undefined;
  /** A commit that what is listed leads to. */
  readonly contains?: string;
}

/** Which part of a list: so many after so many, or after a name. */
interface RefPlace {
  readonly skip: number;
  readonly limit: number;
  readonly after?: string | null | undefined;
}

/** As many as are counted. */
const COUNTED = 10_000;

/** Refs from a place on, whether others follow, and how many there are, which nobody is told beyond ten thousand. */
export async function listRefs(
  repository: Repository,
  { kind, order, wants = () => true, contains }: RefList,
  { skip, limit, after }: RefPlace,
): Promise<{ rows: Ref[]; more: boolean; total: number }> {
  const rows: Ref[] = [];
  const prefix = `refs/${kind}/`;
  const lines = linesOf(repository, {
    command: "for-each-ref",
    options: [`--sort=${order}`, "--format=%(objectname) %(refname)", ...(contains ? [`--contains=${contains}`] : [])],
    values: [prefix],
  });
  const begins = beginning(order, after);
  let total = 0;
  for await (const some of lines) {
    for (const line of some) {
      const name = line.slice(41 + prefix.length);
      if (!begins(name) || !wants(name)) continue;
      if (total >= skip && rows.length < limit) rows.push({ name, id: line.slice(0, 40) });
      total += 1;
    }
    if (total > skip + limit && (total > COUNTED || typeof after === "string")) break;
  }
  return { rows, more: total > skip + limit, total };
}

/** Tells from which name on a list begins. Names are in the order of their bytes; other orders are followed to the name. */
function beginning(order: RefOrder, after: string | null | undefined): (name: string) => boolean {
  if (typeof after !== "string") return () => true;
  const last = Buffer.from(after);
  if (order === "refname") return (name) => Buffer.compare(Buffer.from(name), last) > 0;
  let begun = false;
  return (name) => {
    const before = begun;
    begun ||= name === after;
    return before;
  };
}

/** Which of these branches lead nowhere that a commit does not. */
export async function mergedBranches(repository: Repository, into: string, names: readonly string[]) {
  if (names.length === 0) return new Set<string>();
  const merged = await allLines(repository, {
    command: "for-each-ref",
    options: [`--merged=${into}`, "--format=%(refname)"],
    values: names.map((name) => `refs/heads/${name}`),
  });
  return new Set(merged.map((ref) => ref.slice("refs/heads/".length)));
}
