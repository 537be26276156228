import type { Random } from "#test/support/random.ts";
import { type Caller, type Item, ITEM_ID, TITLE, type World } from "./world.ts";
import {
  around,
  isBlocking,
  isBetween,
  type Link,
  linksOf,
  mayLink,
  refusedInPath,
  refusedItem,
  refusedLink,
  seenFrom,
  sees,
  seesContainer,
} from "./model.ts";

export interface Answer {
  readonly status: number;
  /** The number of all rows of a list, null if it is none. */
  readonly total: string | null;
  readonly text: string;
  readonly body: any;
}
export type Send = (method: string, path: string, caller: Caller, payload?: object) => Promise<Answer>;

/** A write of a round, and what became of it. */
export interface Write {
  readonly caller: Caller;
  readonly item: Item;
  readonly other: Item;
  readonly does: "create" | "delete";
  readonly link?: Link;
  readonly type: "relates_to" | "blocks" | "is_blocked_by";
  answer?: Answer;
}

const TYPES = ["relates_to", "blocks", "is_blocked_by"] as const;
const listOf = ({ kind }: Item) => (kind === "issue" ? "links" : "related_epics");

/** A few writes that meet at the same items. */
export function someWrites(random: Random, { callers, items }: World, links: readonly Link[]): Write[] {
  const kind = random.pick(["issue", "epic"] as const);
  const ofKind = items.filter((item) => item.kind === kind);
  const few = Array.from({ length: 5 }, () => random.pick(ofKind));
  // Writers who may link everything make the rounds that close circles.
  const able = callers.filter((caller) => few.filter((item) => sees(caller, item) && mayLink(caller, item)).length > 2);
  return Array.from({ length: 6 }, (): Write => {
    const caller = random.pick(able.length > 0 && random.chance(0.8) ? able : callers);
    const [item, other] = [random.pick(few), random.pick(few)];
    const near = links.filter((link) => isBetween(link, item, other) || linksOf([link], item).length > 0);
    const link = near.length > 0 && random.chance(0.35) ? random.pick(near) : undefined;
    if (!link) return { caller, item, other, does: "create", type: random.pick(TYPES) };
    return { caller, item, other: seenFrom(item, link).other, does: "delete", link, type: "relates_to" };
  });
}

/** Two writes that would close a circle together, each of which is right by itself; none if no links allow it. */
export function closingWrites(random: Random, { callers }: World, links: readonly Link[]): Write[] {
  const blocking = links.filter(({ type }) => type === "blocks");
  const first = random.pick(blocking);
  const second = random.pick(blocking.filter(({ source }) => source.kind === first?.source.kind));
  const caller = callers.find(({ admin }) => admin);
  if (!first || !second || !caller) return [];
  const ends = [first.source, first.target, second.source, second.target] as const;
  if (new Set(ends).size < ends.length) return [];
  const write = { caller, does: "create", type: "blocks" } as const;
  return [
    { ...write, item: first.target, other: second.source },
    { ...write, item: second.target, other: first.source },
  ];
}

export async function sendWrite(send: Send, write: Write) {
  const { caller, item, other, does, link, type } = write;
  const target =
    item.kind === "issue"
      ? { target_project_id: other.place.id, target_issue_iid: other.iid }
      : { target_group_id: other.place.id, target_epic_iid: other.iid };
  write.answer =
    does === "create"
      ? await send("POST", `${item.path}/${listOf(item)}`, caller, { ...target, link_type: type })
      : await send("DELETE", `${item.path}/${listOf(item)}/${link?.id}`, caller);
}

/** What is wrong with the answers of a round, given the links before it and after it. */
export function problemsOfWrites(writes: readonly Write[], before: readonly Link[], after: readonly Link[]): string[] {
  const created = writes.filter(({ does, answer }) => does === "create" && answer?.status === 201);
  const ever = [...before, ...created.map(({ item, other, type }) => linkFrom(item, other, type))];
  return writes
    .flatMap((write) => {
      const { caller, item, other, answer } = write;
      const said = `${write.does} ${item.path} → ${other.path} (${write.type}) by ${caller.user?.username ?? "nobody"}: ${answer?.status} ${answer?.text.slice(0, 200)}`;
      // Too many waited for the same rows; nothing has happened.
      if (answer?.status === 503) return [];
      const expected = write.does === "create" ? afterCreate(write, writes, before, ever) : afterDelete(write, writes);
      const shown = answer?.status === 201 || answer?.status === 200 ? shownProblems(write) : [];
      return [
        ...(expected.includes(answer?.status ?? 0) ? [] : [`expected ${expected.join(" or ")}: ${said}`]),
        ...shown,
      ];
    })
    .concat(pairProblems(writes, before, after));
}

const linkFrom = (item: Item, other: Item, type: Write["type"]): Link => ({
  ...{ id: 0, type: type === "relates_to" ? type : "blocks" },
  ...(type === "is_blocked_by" ? { source: other, target: item } : { source: item, target: other }),
});

function afterCreate(
  { caller, item, other, type }: Write,
  writes: readonly Write[],
  before: readonly Link[],
  ever: readonly Link[],
): number[] {
  const refused = refusedLink(caller, item, other);
  if (refused !== undefined) return [refused];
  const link = linkFrom(item, other, type);
  const wasLinked = before.some((each) => isBetween(each, item, other));
  const mayBeGone = writes.some(({ does, link: old }) => does === "delete" && old && isBetween(old, item, other));
  if (wasLinked && !mayBeGone) return [409];
  const rivals = writes.filter(
    (each) => each.does === "create" && isBetween(linkFrom(each.item, each.other, each.type), item, other),
  );
  const mayClose = link.type === "blocks" && isBlocking(ever, link.target, link.source);
  return [201, ...(wasLinked || rivals.length > 1 ? [409] : []), ...(mayClose ? [422] : [])];
}

function afterDelete({ caller, item, other, link }: Write, writes: readonly Write[]): number[] {
  const refused = refusedInPath(caller, item, true) ?? (sees(caller, other) ? undefined : 404);
  if (refused !== undefined) return [refused];
  if (!mayLink(caller, item) || !mayLink(caller, other)) return writes.length > 1 ? [403, 404] : [403];
  return writes.some((each) => each.does === "delete" && each.link === link && each.caller !== caller) ||
    repeats(writes, link)
    ? [200, 404]
    : [200];
}

const repeats = (writes: readonly Write[], link: Link | undefined) =>
  writes.filter((each) => each.does === "delete" && each.link === link).length > 1;

/** The two ends of a link in an answer, told from the item in the path. */
function shownProblems({ item, other, does, type, link, answer }: Write): string[] {
  const { body } = answer ?? {};
  const [source, target] = [body?.[`source_${item.kind}`]?.id, body?.[`target_${item.kind}`]?.id];
  const told = does === "create" ? type : link && seenFrom(item, link).type;
  return source === item.id && target === other.id && body?.link_type === told
    ? []
    : [`${item.path} → ${other.path} is told as ${source} → ${target}, ${body?.link_type}`];
}

/** Every pair has as many links more as were created, and less as were deleted. */
function pairProblems(writes: readonly Write[], before: readonly Link[], after: readonly Link[]): string[] {
  const count = (links: readonly Link[], { item, other }: Write) =>
    links.filter((link) => isBetween(link, item, other)).length;
  return writes.flatMap((write) => {
    const same = writes.filter(
      ({ item, other }) =>
        (item === write.item && other === write.other) || (item === write.other && other === write.item),
    );
    const sum = same.reduce(
      (total, { answer }) => total + (answer?.status === 201 ? 1 : answer?.status === 200 ? -1 : 0),
      0,
    );
    const [was, is] = [count(before, write), count(after, write)];
    return is - was === sum
      ? []
      : [`${write.item.path} and ${write.other.path} had ${was} links and have ${is} after ${sum}`];
  });
}

/** A read by some caller, and what the model says to it. */
export async function readProblems(
  send: Send,
  random: Random,
  world: World,
  links: readonly Link[],
): Promise<string[]> {
  const caller = random.pick(world.callers);
  const item = random.pick(world.items);
  const refused = refusedInPath(caller, item, false);
  const visible = linksOf(links, item).filter((link) => sees(caller, seenFrom(item, link).other));
  const kinds =
    item.kind === "issue" ? (["list", "get", "graph", "item"] as const) : (["list", "group", "item"] as const);
  const kind = random.pick<(typeof kinds)[number]>(kinds);
  const ask = async (path: string, status: number | undefined, told: (body: any) => unknown, expected: unknown) => {
    const answer = await send("GET", path, caller);
    const said = `${path} by ${caller.user?.username ?? "nobody"}`;
    const leaked = leaksIn(world, caller, answer.text).map((leak) => `${said} shows ${leak}`);
    if (answer.status !== (status ?? 200)) return [`${said}: ${answer.status}, not ${status ?? 200}`, ...leaked];
    if (status !== undefined) return leaked;
    if (answer.total !== null && answer.total !== String((expected as unknown[]).length))
      return [`${said}: a total of ${answer.total}, not ${(expected as unknown[]).length}`, ...leaked];
    const [given, wanted] = [JSON.stringify(told(answer.body)), JSON.stringify(expected)];
    return given === wanted ? leaked : [`${said}: ${given}, not ${wanted}`, ...leaked];
  };
  switch (kind) {
    case "list": {
      const told = (body: any[]) =>
        body.map((each) => [each.id, each.link_type, each.issue_link_id ?? each.related_epic_link_id]);
      const expected = visible.map((link) => [seenFrom(item, link).other.id, seenFrom(item, link).type, link.id]);
      return ask(`${item.path}/${listOf(item)}`, refused, told, expected);
    }
    case "get": {
      const link = random.pick(links.filter((each) => each.source.kind === "issue"));
      if (!link) return [];
      const isShown = visible.includes(link);
      const told = (body: any) => [body.source_issue.id, body.target_issue.id, body.link_type];
      const expected = isShown ? [item.id, seenFrom(item, link).other.id, seenFrom(item, link).type] : [];
      return ask(`${item.path}/links/${link.id}`, refused ?? (isShown ? undefined : 404), told, expected);
    }
    case "graph": {
      const depth = 1 + random.below(5);
      const nodes = around(links, caller, item, depth);
      const edges = links.filter(({ source, target }) => nodes.has(source) && nodes.has(target)).map(({ id }) => id);
      const expected = [[...nodes].map(({ id }) => id).toSorted((a, b) => a - b), edges];
      const told = (body: any) => [body.nodes.map((each: any) => each.id), body.edges.map((each: any) => each.id)];
      return ask(`${item.path}/links/graph?depth=${depth}`, refused, told, expected);
    }
    case "group": {
      const { place } = item;
      const shown = links.filter(
        ({ source, target }) =>
          [source, target].some((end) => end.place === place) && sees(caller, source) && sees(caller, target),
      );
      const status = seesContainer(caller, place) ? undefined : 404;
      const told = (body: any[]) => body.map(({ id }) => id);
      return ask(
        `/groups/${place.id}/related_epic_links?per_page=100`,
        status,
        told,
        shown.map(({ id }) => id),
      );
    }
    case "item": {
      const blocked = visible.filter((link) => link.type === "blocks" && link.source === item).length;
      return ask(item.path, refusedItem(caller, item), (body) => body.blocking_issues_count ?? blocked, blocked);
    }
  }
}

/** Ids and titles of items in a text that the caller may not see. */
export function leaksIn({ items }: World, caller: Caller, text: string): string[] {
  const found = new Set([...(text.match(ITEM_ID) ?? []), ...(text.match(TITLE) ?? [])]);
  return items
    .filter((item) => !sees(caller, item))
    .flatMap(({ id, title }) => [String(id), title].filter((each) => found.has(each)));
}
