/** What a membership is worth, by name; the numbers are what the wire and the tables hold. */
export const LEVELS = {
  minimal: 5,
  guest: 10,
  planner: 15,
  reporter: 20,
  developer: 30,
  maintainer: 40,
  owner: 50,
} as const;

/** A role in a project. Minimal access is to one group and never to what is in it. */
export type Role = Exclude<keyof typeof LEVELS, "minimal">;

export type Visibility = "private" | "internal" | "public";
export const VISIBILITIES = { private: 0, internal: 10, public: 20 } as const;

export const visibilityName = (value: number): Visibility =>
  value === VISIBILITIES.public ? "public" : value === VISIBILITIES.internal ? "internal" : "private";
