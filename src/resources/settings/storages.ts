import { randomInt } from "node:crypto";
import type { InstanceSettings } from "#db/settings.ts";
import type { Git } from "#git/storages/open.ts";

type Weights = Pick<InstanceSettings, "repository_storages_weighted">;

/** Where repositories can be on this instance. */
export const storageNames = ({ storages }: Pick<Git, "storages">): string[] => storages.map(({ name }) => name);

/** How often each of the storages is chosen; one that nobody gave a weight has none. */
export function weightsOf({ repository_storages_weighted: given }: Weights, storages: readonly string[]) {
  const weights = new Map(Object.entries(given as Record<string, number>));
  return Object.fromEntries(storages.map((name) => [name, weights.get(name) ?? 0]));
}

/** The storage of a new repository, drawn by weight; where none of them has one, it is the first. */
export function drawStorage(
  settings: Weights,
  storages: readonly string[],
  draw: (below: number) => number = randomInt,
) {
  const weights = Object.entries(weightsOf(settings, storages));
  const sum = weights.reduce((all, [, weight]) => all + weight, 0);
  let left = sum > 0 ? draw(sum) : 0;
  const drawn = weights.find(([, weight]) => (left -= weight) < 0);
  return drawn?.[0] ?? storages[0] ?? "default";
}
