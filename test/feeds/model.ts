import type { Feature, Group, Happened, Item, Person, Container, Project, Target, World } from "./world.ts";

const GUEST = 10;
const PLANNER = 15;
const REPORTER = 20;
const MIN_LEVELS = { issues: GUEST, merge_requests: REPORTER, repository: REPORTER } as const;

/** The level by memberships in a place and above it. */
export function levelIn(who: Person, place: Container | null): number {
  return place ? Math.max(place.levels.get(who) ?? 0, levelIn(who, place.parent)) : 0;
}

export const hasLevel = (who: Person, place: Container, level: number): boolean =>
  who.admin || levelIn(who, place) >= level;

/** Everybody in this world is signed in. */
const isOpen = ({ admin }: Person, { visibility }: Container) => admin || visibility !== "private";

export const isBelow = (place: Container, group: Group): boolean =>
  place === group || (place.parent !== null && isBelow(place.parent, group));

export const seesProject = (who: Person, project: Project): boolean =>
  isOpen(who, project) || levelIn(who, project) >= GUEST;

/** Members of anything in a group see the group as well. */
export const seesGroup = (who: Person, group: Group, { groups, projects }: World): boolean =>
  isOpen(who, group) || [...groups, ...projects].some((place) => isBelow(place, group) && levelIn(who, place) >= GUEST);

export function uses(who: Person, project: Project, feature: Feature): boolean {
  const access = project.features[feature];
  if (access === "disabled") return false;
  return (access === "enabled" && isOpen(who, project)) || hasLevel(who, project, MIN_LEVELS[feature]);
}

const seesConfidential = (who: Person, place: Container) => hasLevel(who, place, PLANNER);

export function seesItem(who: Person, { type, place, author, confidential, isGone }: Item): boolean {
  if (isGone) return false;
  if (place.type === "group")
    return (isOpen(who, place) || hasLevel(who, place, GUEST)) && (!confidential || seesConfidential(who, place));
  if (type === "MergeRequest") return uses(who, place, "merge_requests");
  return uses(who, place, "issues") && (!confidential || author === who || seesConfidential(who, place));
}

function seesTarget(who: Person, target: Target, action: Happened["action"], world: World): boolean {
  const { type, place } = target;
  if (type === "Milestone") {
    const isSeen = place.type === "group" ? seesGroup(who, place, world) : uses(who, place, "issues");
    return isSeen && (action === "destroyed" || !target.isGone);
  }
  if (type !== "Note") return seesItem(who, target);
  return !target.isGone && seesItem(who, target.on) && (!target.internal || seesConfidential(who, place));
}

export function seesEvent(who: Person, { place, action, target }: Happened, world: World): boolean {
  if (target) return seesTarget(who, target, action, world);
  if (place.type === "group") return false;
  return action === "pushed" ? uses(who, place, "repository") : seesProject(who, place);
}

/** Whether the title or text of something may be in an answer. */
export const seesTitle = (who: Person, target: Target, world: World): boolean =>
  !target.isGone && seesTarget(who, target, "created", world);

/** What a feed is about. */
export type Feed =
  | { readonly of: "oneself" }
  | { readonly of: "own projects" }
  | { readonly of: "person"; readonly person: Person }
  | { readonly of: "project"; readonly project: Project }
  | { readonly of: "group"; readonly group: Group };

/** Whether an event belongs to a feed, whoever may see it. */
export function isIn(feed: Feed, { place, author }: Happened, who: Person): boolean {
  if (feed.of === "group") return isBelow(place, feed.group);
  if (place.type === "group") return false;
  switch (feed.of) {
    case "oneself":
      return author === who;
    case "own projects":
      return levelIn(who, place) >= GUEST;
    case "person":
      return author === feed.person && (!author.hasPrivateProfile || who.admin || who === author);
    case "project":
      return place === feed.project;
  }
}

export function isMissing(feed: Feed, who: Person, world: World): boolean {
  if (feed.of === "project") return !seesProject(who, feed.project);
  return feed.of === "group" && !seesGroup(who, feed.group, world);
}

/** As documented: comments in discussions of merge requests cannot be asked for. */
export function hasTargetType(feed: Feed, { target }: Happened, type: string): boolean {
  switch (type) {
    case "project":
      return target === null;
    case "note":
      return target?.type === "Note" && !(target.on.type === "MergeRequest" && target.inDiscussion);
    case "epic":
      return feed.of === "group" && target?.type === "Epic";
    default:
      return target?.type === TYPES[type];
  }
}

const TYPES: Readonly<Record<string, Target["type"]>> = {
  issue: "Issue",
  merge_request: "MergeRequest",
  milestone: "Milestone",
};
