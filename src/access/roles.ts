import { forbidden } from "#lib/refusal.ts";

/** Access levels by name; the API and the database use the numbers. */
export const LEVELS = {
  minimal: 5,
  guest: 10,
  planner: 15,
  reporter: 20,
  developer: 30,
  maintainer: 40,
  owner: 50,
} as const;

/** A role in a project. Minimal access is to one group only, not to what is in it. */
export type Role = Exclude<keyof typeof LEVELS, "minimal">;

/** The name of a role as people know it. */
export const roleName = (role: Role): string => role.charAt(0).toUpperCase() + role.slice(1);

/** Where somebody lacks a role, as refusals name it. */
type RoleContainer = "project" | "group" | "parent group" | "group of the parent" | "group of the other epic";

/** Refuses somebody who sees a group or project and lacks the role that something requires. */
export const needsRole = (role: Role, place: RoleContainer) =>
  forbidden(`Requires at least the ${roleName(role)} role in the ${place}`);

export const needsAdministrator = () => forbidden("Requires an administrator");

export type Visibility = "private" | "internal" | "public";
export const VISIBILITIES = { private: 0, internal: 10, public: 20 } as const;

export const visibilityName = (value: number): Visibility =>
  value === VISIBILITIES.public ? "public" : value === VISIBILITIES.internal ? "internal" : "private";
