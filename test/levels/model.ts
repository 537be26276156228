import type { Place, World } from "./world.ts";

/** Who looks: a user of the world, or nobody. */
export type Who = number | null;

/**
 * What the rules say, without any SQL: the level in a place is the highest of one's own membership there, of those in
 * the groups above it, and of what the place and the groups above it are shared with.
 */
export function modelOf(world: World) {
  const counts = ({ ends }: { ends: number | null }) => ends === null || ends > 0;
  const highest = (levels: readonly number[]) => Math.max(0, ...levels);

  function groupsFrom(group: number | null): number[] {
    const found: number[] = [];
    for (let at = group; at !== null; at = world.groups[at]?.parent ?? null) found.push(at);
    return found;
  }

  function groupsAbove(place: Place): number[] {
    if ("group" in place) return groupsFrom(world.groups[place.group]?.parent ?? null);
    const project = world.projects[place.project];
    return project && "group" in project ? groupsFrom(project.group) : [];
  }

  const isSame = (one: Place, other: Place) =>
    "group" in one
      ? "group" in other && one.group === other.group
      : "project" in other && one.project === other.project;

  const own = (user: number, place: Place) =>
    highest(
      world.memberships
        .filter((membership) => membership.user === user && isSame(membership.of, place) && counts(membership))
        .map(({ level }) => level),
    );

  /** What someone's memberships in groups are worth to what is in them: minimal access is worth nothing there. */
  const passedOn = (user: number, groups: readonly number[]) =>
    highest(groups.map((group) => own(user, { group })).filter((level) => level > 5));

  function level(who: Who, place: Place): number {
    if (who === null) return 0;
    const above = groupsAbove(place);
    const opened: Place[] = [place, ...above.map((group) => ({ group }))];
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

  const everything: Place[] = [
    ...world.groups.map((_, group) => ({ group })),
    ...world.projects.map((_, project) => ({ project })),
  ];

  /** A group is also seen by whoever has a part in something below it. */
  function hasPartBelow(who: Who, group: number): boolean {
    return everything.some((place) => groupsAbove(place).includes(group) && level(who, place) > 5);
  }

  function sees(who: Who, place: Place): boolean {
    const thing = "group" in place ? world.groups[place.group] : world.projects[place.project];
    if (isAdministrator(who) || isOpen(who, thing?.visibility ?? 0) || level(who, place) > 0) return true;
    return "group" in place && hasPartBelow(who, place.group);
  }

  return { level, sees, everything };
}
