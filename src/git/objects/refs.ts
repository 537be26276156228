import type { Repository } from "#git/storages/storage.ts";
import { allLines, linesOf } from "./output.ts";

export interface Ref {
  /** Without `refs/heads/` or `refs/tags/`. */
  readonly name: string;
  readonly id: string;
}

type RefKind = "heads" | "tags";

/** A sort key of `for-each-ref`; `creatordate` reads each object, the others only names. */
export type RefOrder = `${"" | "-"}${"refname" | "creatordate" | "committerdate" | "version:refname"}`;

interface RefList {
  readonly kind: RefKind;
  readonly order: RefOrder;
  /** Filters by name. */
  readonly matches?: ((name: string) => boolean) | undefined;
  /** Lists only refs that contain this commit. */
  readonly contains?: string;
}

/** A page by offset, or after a name. */
interface RefRange {
  readonly skip: number;
  readonly limit: number;
  readonly after?: string | null | undefined;
}

/** Totals beyond this are not reported. */
const MAX_COUNTED = 10_000;

/** A page of refs, whether more follow, and the total up to ten thousand. */
export async function listRefs(
  repository: Repository,
  { kind, order, matches = () => true, contains }: RefList,
  { skip, limit, after }: RefRange,
): Promise<{ rows: Ref[]; more: boolean; total: number }> {
  const rows: Ref[] = [];
  const prefix = `refs/${kind}/`;
  const lines = linesOf(repository, {
    command: "for-each-ref",
    options: [`--sort=${order}`, "--format=%(objectname) %(refname)", ...(contains ? [`--contains=${contains}`] : [])],
    values: [prefix],
  });
  const isOnPage = afterCursor(order, after);
  let total = 0;
  for await (const some of lines) {
    for (const line of some) {
      const name = line.slice(41 + prefix.length);
      if (!isOnPage(name) || !matches(name)) continue;
      if (total >= skip && rows.length < limit) rows.push({ name, id: line.slice(0, 40) });
      total += 1;
    }
    if (total > skip + limit && (total > MAX_COUNTED || typeof after === "string")) break;
  }
  return { rows, more: total > skip + limit, total };
}

/** Returns whether a name comes after the cursor. Names sort by bytes; other orders are scanned up to the cursor. */
function afterCursor(order: RefOrder, after: string | null | undefined): (name: string) => boolean {
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

/** The branches whose commits are all ancestors of a commit. */
export async function mergedBranches(repository: Repository, into: string, names: readonly string[]) {
  if (names.length === 0) return new Set<string>();
  const merged = await allLines(repository, {
    command: "for-each-ref",
    options: [`--merged=${into}`, "--format=%(refname)"],
    values: names.map((name) => `refs/heads/${name}`),
  });
  return new Set(merged.map((ref) => ref.slice("refs/heads/".length)));
}
