import { globSync, readFileSync } from "node:fs";
import { join, matchesGlob, normalize } from "node:path";
import { DOMAINS, LAYERS } from "./layers.ts";

interface Import {
  readonly from: string;
  readonly to: string;
}

/** Every import between our files in `src`, except tests; both files by their path below `src`. */
function importsIn(root: string): Import[] {
  const files = globSync("**/*.ts", { cwd: join(root, "src") }).filter(
    (file) => !/\.(test|contract)\.ts$|(^|\/)test-support\.ts$/.test(file),
  );
  return files
    .toSorted()
    .flatMap((from) =>
      [...readFileSync(join(root, "src", from), "utf8").matchAll(/\b(?:from|import)\s*\(?\s*"([#.][^"\s]*)"/g)].map(
        ([, name = ""]) => ({ from, to: name.startsWith("#") ? name.slice(1) : normalize(join(from, "..", name)) }),
      ),
    );
}

const PARTS = Object.keys(LAYERS).filter((layer) => layer.includes("{"));
const layerOf = (file: string) => PARTS.find((part) => matchesGlob(file, part)) ?? file.split("/")[0] ?? "";
const domainOf = (file: string) => (/^domains\/[^/]+\//.test(file) ? file.split("/")[1] : undefined);
/** The folder of a resource, such as `identity/users`; undefined for the lists that collect resources. */
const resourceOf = (file: string) => /^domains\/([^/]+\/[^/]+)\//.exec(file)?.[1];

function runsUpward({ from, to }: Import): boolean {
  const [layer, target] = [layerOf(from), layerOf(to)];
  if (layer !== target) return !LAYERS[layer]?.includes(target);
  const [domain, other] = [domainOf(from), domainOf(to)];
  return domain !== undefined && !DOMAINS.slice(DOMAINS.indexOf(domain)).includes(other ?? "");
}

/** The sets of resources that import each other, directly or through others of the set. */
function circlesOf(imports: readonly Import[]): string[][] {
  const edges = new Map<string, Set<string>>();
  for (const { from, to } of imports) {
    const [resource, other] = [resourceOf(from), resourceOf(to)];
    if (resource === undefined || other === undefined || resource === other) continue;
    edges.set(resource, (edges.get(resource) ?? new Set()).add(other));
  }
  const reached = new Map([...edges.keys()].map((resource) => [resource, reachableFrom(resource, edges)]));
  const inCircle = [...edges.keys()].filter((resource) => reached.get(resource)?.has(resource)).toSorted();
  const circleOf = (resource: string) => inCircle.filter((other) => other === resource || isMutual(resource, other));
  const isMutual = (one: string, other: string) => reached.get(one)?.has(other) && reached.get(other)?.has(one);
  return inCircle.map(circleOf).filter((circle, at) => circle[0] === inCircle[at]);
}

function reachableFrom(start: string, edges: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const seen = new Set<string>();
  const waiting = [start];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const other of edges.get(next) ?? []) {
      if (!seen.has(other)) waiting.push(other);
      seen.add(other);
    }
  }
  return seen;
}

const imports = importsIn(process.cwd());
const upward = imports.filter(runsUpward);
const circles = circlesOf(imports);
for (const { from, to } of upward) console.log(`src/${from} may not import src/${to}`);
for (const circle of circles) console.log(`these import each other: ${circle.join(", ")}`);
console.log(`${upward.length} imports upward, ${circles.length} circles between resource folders`);
if (upward.length + circles.length > 0) process.exitCode = 1;
