import type { TestApp } from "#test/support/app.ts";
import type { Random } from "#test/support/random.ts";
import { type Feed, hasTargetType, isIn, isMissing, seesEvent, seesTitle } from "./model.ts";
import type { Happened, Person, World } from "./world.ts";

const ACTIONS = ["created", "closed", "reopened", "commented", "pushed", "joined", "left", "destroyed"] as const;
const TARGET_TYPES = ["issue", "merge_request", "milestone", "note", "project", "epic"] as const;
export const TITLE = /title-[0-9a-f-]{36}/g;

/** An answer to a read of a feed as a person, compared with the model: what is wrong with it. */
export async function readProblems(app: TestApp, random: Random, world: World): Promise<string[]> {
  const who = random.pick(world.people);
  if (random.chance(0.1)) return calendarProblems(app, who, random.pick(world.people), world);
  const feed = someFeed(random, world);
  const action = random.chance(0.25) ? random.pick(ACTIONS) : undefined;
  const type = random.chance(0.35) ? random.pick(TARGET_TYPES) : undefined;
  const expected = world.events
    .toReversed()
    .filter(
      (event) =>
        isIn(feed, event, who) &&
        (action === undefined || event.action === action) &&
        (type === undefined || hasTargetType(feed, event, type)) &&
        seesEvent(who, event, world),
    );
  const perPage = random.pick([5, 20, 100]);
  const page = 1 + random.below(Math.ceil(expected.length / perPage) + 1);
  const query = new URLSearchParams({
    ...(feed.of === "own projects" && { scope: "all" }),
    ...(action && { action }),
    ...(type && { target_type: type }),
    ...{ page: String(page), per_page: String(perPage) },
  });
  const path = `${pathOf(feed)}?${query.toString()}`;
  const answer = await app.get(path, { token: who.user.token });
  const said = `${path} by ${nameOf(who)}`;
  const problems = leaksIn(answer.text, who, world).map((leak) => `${said} shows ${leak}`);
  const status = isMissing(feed, who, world) ? 404 : 200;
  if (answer.status !== status) return [...problems, `${said}: ${answer.status}, not ${status}`];
  if (status !== 200) return problems;
  const total = answer.headers["x-total"];
  if (total !== String(expected.length)) problems.push(`${said}: a total of ${total}, not ${expected.length}`);
  const wanted = expected.slice((page - 1) * perPage, page * perPage).map((event) => shown(event, feed));
  const given = answer.body.map(shownIn);
  const differs = Array.from(given, (line, at) => line !== wanted[at]).indexOf(true);
  if (differs >= 0) problems.push(`${said}: event ${differs} is ${given[differs]}, not ${wanted[differs]}`);
  if (given.length < wanted.length) problems.push(`${said}: only ${given.length} of ${wanted.length} events`);
  return problems;
}

const nameOf = ({ user, admin }: Person) => (admin ? "the administrator" : user.username);

function someFeed(random: Random, { people, projects, groups }: World): Feed {
  const feeds: Feed[] = [
    { of: "oneself" },
    { of: "own projects" },
    { of: "person", person: random.pick(people) },
    { of: "project", project: random.pick(projects) },
    { of: "group", group: random.pick(groups) },
  ];
  return random.pick(feeds);
}

function pathOf(feed: Feed): string {
  switch (feed.of) {
    case "oneself":
    case "own projects":
      return "/events";
    case "person":
      return `/users/${feed.person.user.id}/events`;
    case "project":
      return `${feed.project.path}/events`;
    case "group":
      return `${feed.group.path}/events`;
  }
}

/** An event as the API shows it, in one line. */
function shown({ place, author, action, target }: Happened, { of }: Feed): string {
  const isNote = target?.type === "Note";
  const opens = target !== null && (action === "created" || action === "reopened");
  const name = opens ? "opened" : action === "commented" ? "commented on" : action;
  const type = isNote && target.inDiscussion ? "DiscussionNote" : (target?.type ?? null);
  const title = target && !isNote && action !== "destroyed" && !target.isGone ? target.title : null;
  const inGroup = place.type === "group";
  return JSON.stringify([
    ...[author.user.id, name, type, target?.id ?? null, title, isNote ? target.title : null],
    ...[inGroup ? null : place.id, of === "group" && inGroup ? place.id : null],
  ]);
}

interface ShownEvent {
  readonly author_id: number;
  readonly action_name: string;
  readonly target_type: string | null;
  readonly target_id: number | null;
  readonly target_title: string | null;
  readonly note?: { readonly body: string };
  readonly project_id: number | null;
  readonly group_id?: number | null;
}

const shownIn = (event: ShownEvent): string =>
  JSON.stringify([
    ...[event.author_id, event.action_name, event.target_type, event.target_id, event.target_title],
    ...[event.note?.body ?? null, event.project_id, event.group_id ?? null],
  ]);

/** Titles in a text that a person may not see. */
function leaksIn(text: string, who: Person, world: World): string[] {
  const found = new Set(text.match(TITLE));
  return world.targets
    .filter((target) => found.has(target.title) && !seesTitle(who, target, world))
    .map(({ type, title }) => `the ${title} of a hidden ${type}`);
}

async function calendarProblems(app: TestApp, who: Person, of: Person, world: World): Promise<string[]> {
  const path = `/users/${of.user.id}/calendar`;
  const { status, text, body } = await app.get(path, { token: who.user.token });
  if (status !== 200) return [`${path} by ${nameOf(who)}: ${status} ${text}`];
  const given = body.reduce((sum: number, day: { count: number }) => sum + day.count, 0);
  const feed = { of: "person", person: of } as const;
  const wanted = world.events.filter((event) => isIn(feed, event, who) && seesEvent(who, event, world)).length;
  return given === wanted ? [] : [`${path} by ${nameOf(who)}: ${given} events, not ${wanted}`];
}
