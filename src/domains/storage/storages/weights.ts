import { randomInt } from "node:crypto";
import type { InstanceSettings } from "#db/settings.ts";
import type { Git } from "#git/storages/open.ts";

type Weights = Pick<InstanceSettings, "repository_storages_weighted">;

export const storageNames = ({ storages }: Pick<Git, "storages">): string[] => storages.map(({ name }) => name);

/** The weight of each storage; 0 by default. */
export function weightsOf({ repository_storages_weighted: configured }: Weights, storages: readonly string[]) {
  const weights = new Map(Object.entries(configured as Record<string, number>));
  return Object.fromEntries(storages.map((name) => [name, weights.get(name) ?? 0]));
}

/** Draws the storage of a new repository by weight; the first one if all weights are 0. */
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
