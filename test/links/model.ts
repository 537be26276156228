import type { Caller, Item, Container } from "./world.ts";

/** A link as it is stored. */
export interface Link {
  readonly id: number;
  readonly source: Item;
  readonly target: Item;
  readonly type: "relates_to" | "blocks";
}

const GUEST = 10;
const PLANNER = 15;

const levelOf = ({ user }: Caller, { levels }: Container) => (user ? (levels.get(user.id) ?? 0) : 0);

const isOpen = ({ user }: Caller, { visibility }: Container) =>
  visibility === "public" || (visibility === "internal" && user !== null);

export const seesContainer = (caller: Caller, place: Container): boolean =>
  caller.admin || isOpen(caller, place) || levelOf(caller, place) > 0;

/** Whether a caller who sees a place may use what is in it. */
export function usesContainer(caller: Caller, place: Container): boolean {
  if (place.kind === "epic") return true;
  if (place.issues === "disabled") return false;
  return caller.admin || levelOf(caller, place) >= GUEST || (place.issues === "enabled" && isOpen(caller, place));
}

export function sees(caller: Caller, { place, confidential, author, kind }: Item): boolean {
  if (!seesContainer(caller, place) || !usesContainer(caller, place)) return false;
  if (!confidential || caller.admin || levelOf(caller, place) >= PLANNER) return true;
  return kind === "issue" && caller.user !== null && author === caller.user.id;
}

/** Whether a caller who sees an item may link it. */
export function mayLink(caller: Caller, { place, author, kind }: Item): boolean {
  if (caller.admin) return true;
  if (kind === "epic") return levelOf(caller, place) >= GUEST;
  return levelOf(caller, place) >= PLANNER || (caller.user !== null && author === caller.user.id);
}

/** The status by which reading an item is refused. */
export function refusedItem(caller: Caller, item: Item): number | undefined {
  if (!seesContainer(caller, item.place)) return 404;
  if (!usesContainer(caller, item.place)) return 403;
  return sees(caller, item) ? undefined : 404;
}

/** The status by which a request about the links of an item is refused, whatever else it names. */
export function refusedInPath(caller: Caller, item: Item, writes: boolean): number | undefined {
  if (!caller.user && (item.kind === "issue" || writes)) return 401;
  if (writes && item.kind === "epic" && seesContainer(caller, item.place) && !mayLink(caller, item)) return 403;
  return refusedItem(caller, item);
}

/** The same for a request to create a link. */
export function refusedLink(caller: Caller, item: Item, other: Item): number | undefined {
  const refused = refusedInPath(caller, item, true);
  if (refused !== undefined) return refused;
  if (!sees(caller, other)) return 404;
  if (!mayLink(caller, item) || !mayLink(caller, other)) return 403;
  return item === other ? 422 : undefined;
}

/** Whether one item blocks another, directly or through others. */
export function isBlocking(links: readonly Link[], from: Item, to: Item): boolean {
  const reached = new Set([from]);
  for (const item of reached)
    for (const link of links) if (link.type === "blocks" && link.source === item) reached.add(link.target);
  return reached.has(to) && from !== to;
}

export const hasCircle = (links: readonly Link[]): boolean =>
  links.some((link) => link.type === "blocks" && isBlocking(links, link.target, link.source));

export const isBetween = (link: Link, one: Item, other: Item) =>
  (link.source === one && link.target === other) || (link.source === other && link.target === one);

/** A link as it reads from one of its ends. */
export function seenFrom(item: Item, { source, target, type }: Link) {
  const other = source === item ? target : source;
  return { other, type: type === "blocks" && target === item ? "is_blocked_by" : type };
}

export const linksOf = (links: readonly Link[], item: Item) =>
  links.filter(({ source, target }) => source === item || target === item);

/** The items up to `depth` links away that a caller may see, through those alone. */
export function around(links: readonly Link[], caller: Caller, item: Item, depth: number): Set<Item> {
  const found = new Set([item]);
  for (let distance = 0; distance < depth; distance++)
    for (const each of [...found])
      for (const link of linksOf(links, each)) {
        const { other } = seenFrom(each, link);
        if (sees(caller, other)) found.add(other);
      }
  return found;
}
