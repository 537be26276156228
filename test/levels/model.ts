import type { Container, World, WorldItem } from "./world.ts";

/** The caller: a user of the world, or null if anonymous. */
export type Who = number | null;

export const nameOf = (who: Who) => (who === null ? "nobody" : `user ${who}`);
export const inOrder = (ids: readonly number[]) => `[${ids.toSorted((a, b) => a - b).join(", ")}]`;

/**
 * The rules without any SQL: the level in a container is the highest of the user's membership there, of those in the
 * groups above it, and of those through shares of the container and of the groups above it.
 */
export function modelOf(world: World) {
  const counts = ({ ends }: { ends: number | null }) => ends === null || ends > 0;
  const highest = (levels: readonly number[]) => Math.max(0, ...levels);

  function groupsFrom(group: number | null): number[] {
    const found: number[] = [];
    for (let at = group; at !== null; at = world.groups[at]?.parent ?? null) found.push(at);
    return found;
  }

  function groupsAbove(place: Container): number[] {
    if ("group" in place) return groupsFrom(world.groups[place.group]?.parent ?? null);
    const project = world.projects[place.project];
    return project && "group" in project ? groupsFrom(project.group) : [];
  }

  const isSame = (one: Container, other: Container) =>
    "group" in one
      ? "group" in other && one.group === other.group
      : "project" in other && one.project === other.project;

  const own = (user: number, place: Container) =>
    highest(
      world.memberships
        .filter((membership) => membership.user === user && isSame(membership.of, place) && counts(membership))
        .map(({ level }) => level),
    );

  /** The level that a user's memberships in groups give in their content: minimal access gives none. */
  const passedOn = (user: number, groups: readonly number[]) =>
    highest(groups.map((group) => own(user, { group })).filter((level) => level > 5));

  function level(who: Who, place: Container): number {
    if (who === null) return 0;
    const above = groupsAbove(place);
    const opened: Container[] = [place, ...above.map((group) => ({ group }))];
    const shared = world.shares
      .filter((share) => counts(share) && opened.some((each) => isSame(share.of, each)))
      .map((share) => Math.min(share.level, passedOn(who, groupsFrom(share.with))));
    return highest([own(who, place), passedOn(who, above), ...shared]);
  }

  function isOpen(who: Who, visibility: number): boolean {
    if (visibility === 20) return true;
    return visibility === 10 && who !== null && world.users[who]?.external === false;
  }

  const isAdministrator = (who: Who) => who !== null && world.users[who]?.admin === true;

  const everything: Container[] = [
    ...world.groups.map((_, group) => ({ group })),
    ...world.projects.map((_, project) => ({ project })),
  ];

  /** A group is also visible to users who have a level in something below it. */
  function hasPartBelow(who: Who, group: number): boolean {
    return everything.some((place) => groupsAbove(place).includes(group) && level(who, place) > 5);
  }

  function sees(who: Who, place: Container): boolean {
    const thing = "group" in place ? world.groups[place.group] : world.projects[place.project];
    if (isAdministrator(who) || isOpen(who, thing?.visibility ?? 0) || level(who, place) > 0) return true;
    return "group" in place && hasPartBelow(who, place.group);
  }

  /** A project's access level counts for the feature of the world; every other feature is enabled. */
  const accessOf = (project: number, feature: World["feature"]) =>
    world.feature === feature ? (world.projects[project]?.access ?? "disabled") : "enabled";

  /** An enabled feature is for everyone whom the visibility admits; others need a role, above Guest if it shows code. */
  function uses(who: Who, place: Container, feature = world.feature): boolean {
    if (!("project" in place) || !sees(who, place)) return false;
    const { visibility } = world.projects[place.project] ?? { visibility: 0 };
    const access = accessOf(place.project, feature);
    if (access === "disabled") return false;
    const least = feature === "repository" || feature === "merge_requests" ? 20 : 10;
    const isMember = isAdministrator(who) || level(who, place) >= least;
    return isMember || (access === "enabled" && isOpen(who, visibility));
  }

  /**
   * Issues are for those who may use the issues of the project; epics for those whom the group's visibility or a role
   * lets in. Confidential ones take a Planner, or are one's own.
   */
  function seesItem(who: Who, { of, confidential, author, assignee }: WorldItem): boolean {
    if (!isLetIn(who, of) || !confidential || isManager(who, of)) return isLetIn(who, of);
    return who !== null && "project" in of && (author === who || assignee === who);
  }

  const isManager = (who: Who, of: Container) => isAdministrator(who) || level(who, of) >= 15;

  function isLetIn(who: Who, of: Container): boolean {
    if ("project" in of) return uses(who, of, "issues");
    return isAdministrator(who) || isOpen(who, world.groups[of.group]?.visibility ?? 0) || level(who, of) >= 10;
  }

  /** Internal notes take a Planner, also on what is one's own. */
  const seesInternal = (who: Who, item: WorldItem) => isLetIn(who, item.of) && isManager(who, item.of);

  return { level, sees, uses, seesItem, seesInternal, everything };
}
