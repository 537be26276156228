import type { SeedStatement } from "#db/seed.ts";

/** How many rows the seed creates; all other counts follow from these. */
export interface SeedSize {
  readonly users: number;
  readonly projects: number;
  readonly tokens: number;
  /** As many as projects if left out. */
  readonly issues?: number;
  /** For a database that people use: the storages there are, and tokens and sessions that nobody can guess. */
  readonly trial?: { readonly storages: readonly string[] };
}

/** Statements of a step that is skipped where there are no projects. */
export const forProjects =
  (statements: (size: SeedSize) => readonly SeedStatement[]) =>
  (size: SeedSize): readonly SeedStatement[] =>
    size.projects === 0 ? [] : statements(size);

/** SQL for a pseudo-random number that is the same in every run. */
export const dice = (of: string, salt: number) => `('x' || substr(md5(${of}::text || '${salt}'), 1, 7))::bit(28)::int`;

/** SQL for one of twenty words. */
export const word = (of: string, salt: number) =>
  `(array['anchor','beacon','compass','deck','ebb','fathom','galley','harbour','islet','jetty','keel','lagoon','mast',
    'narrows','oar','port','quay','rudder','sail','tide'])[1 + ${dice(of, salt)} % 20]`;
