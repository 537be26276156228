/** A bound that is switched off by changing one place of the source as the server loads it. */
export interface Plant {
  readonly name: string;
  /** The attack that must fail without the bound. */
  readonly attack: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export const PLANTS: readonly Plant[] = [];

/** A plant that no longer fits the source would prove nothing, so it is an error. */
export function plantedSource({ name, from, to }: Plant, source: string): string {
  if (source.split(from).length !== 2) throw new Error(`the plant ${name} does not fit its file exactly once`);
  return source.replace(from, () => to);
}
