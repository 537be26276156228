import { randomUUID } from "node:crypto";
import { hasLevel, seesItem } from "./model.ts";
import type { Item } from "./world.ts";
import {
  created,
  DEVELOPER,
  existing,
  happened,
  newTitle,
  PLANNER,
  plannersIn,
  send,
  usersOf,
  type WriteContext,
} from "./write-context.ts";

const NEW = { isOpen: true, isGone: false } as const;
export const isItem = (target: { readonly type: string }): target is Item =>
  ["Issue", "Epic", "MergeRequest"].includes(target.type);

async function issue(context: WriteContext) {
  const { random, world } = context;
  const place = random.pick(world.projects);
  const author = random.pick(usersOf(context, place, ["issues"]));
  if (!author) return;
  const [title, confidential] = [newTitle(), random.chance(0.3)];
  const { id, iid } = await send(context, "POST", `${place.path}/issues`, author, { title, confidential });
  const path = `${place.path}/issues/${iid}`;
  created(context, author, { ...NEW, type: "Issue", id, path, place, title, author, confidential });
}

async function epic(context: WriteContext) {
  const { random, world } = context;
  const place = random.pick(world.groups);
  const author = random.pick(plannersIn(context, place));
  if (!author) return;
  const [title, confidential] = [newTitle(), random.chance(0.3)];
  const { id, iid } = await send(context, "POST", `${place.path}/epics`, author, { title, confidential });
  const path = `${place.path}/epics/${iid}`;
  created(context, author, { ...NEW, type: "Epic", id, path, place, title, author, confidential });
}

async function branch(context: WriteContext) {
  const { random, world } = context;
  const place = random.pick(world.projects);
  const author = random.pick(usersOf(context, place, ["repository"], DEVELOPER));
  if (!author) return;
  const name = `branch-${randomUUID()}`;
  await send(context, "POST", `${place.path}/repository/branches`, author, { branch: name, ref: "main" });
  place.branches.push(name);
  happened(context, place, author, "pushed");
}

async function commit(context: WriteContext) {
  const { random, world } = context;
  const place = random.pick(world.projects);
  const author = random.pick(usersOf(context, place, ["repository"], DEVELOPER));
  if (!author) return;
  const actions = [{ action: "create", file_path: randomUUID(), content: "" }];
  const payload = { branch: "main", commit_message: "Add a file", actions };
  await send(context, "POST", `${place.path}/repository/commits`, author, payload);
  happened(context, place, author, "pushed");
}

async function mergeRequest(context: WriteContext) {
  const { random, world } = context;
  const place = random.pick(world.projects.filter(({ branches }) => branches.length > 0));
  const author = place && random.pick(usersOf(context, place, ["merge_requests", "repository"], DEVELOPER));
  if (!author) return;
  const title = newTitle();
  const payload = { title, source_branch: place.branches.pop(), target_branch: "main" };
  const { id, iid } = await send(context, "POST", `${place.path}/merge_requests`, author, payload);
  const path = `${place.path}/merge_requests/${iid}`;
  created(context, author, { ...NEW, type: "MergeRequest", id, path, place, title, author, confidential: false });
}

async function milestone(context: WriteContext) {
  const { random, world } = context;
  const place = random.pick([...world.projects, ...world.groups]);
  const author = random.pick(plannersIn(context, place));
  if (!author) return;
  const title = newTitle();
  const { id } = await send(context, "POST", `${place.path}/milestones`, author, { title });
  created(context, author, { ...NEW, type: "Milestone", id, path: `${place.path}/milestones/${id}`, place, title });
}

/** What is written on an epic is addressed by the id of the epic, not by its number in the group. */
const commentsOn = ({ type, id, path, place }: Item) => (type === "Epic" ? `${place.path}/epics/${id}` : path);

async function note(context: WriteContext) {
  const { random, world } = context;
  const on = existing(context, isItem);
  const author = on && random.pick(world.people.filter((who) => seesItem(who, on)));
  if (!author) return;
  const title = newTitle();
  const internal = random.chance(0.3) && hasLevel(author, on.place, PLANNER);
  const inDiscussion = !internal && random.chance(0.3);
  const payload = { body: title, ...(internal && { internal }) };
  const body = await send(
    context,
    "POST",
    `${commentsOn(on)}/${inDiscussion ? "discussions" : "notes"}`,
    author,
    payload,
  );
  const { id } = inDiscussion ? body.notes[0] : body;
  const path = `${commentsOn(on)}/notes/${id}`;
  created(context, author, { ...NEW, type: "Note", id, path, place: on.place, title, on, internal, inDiscussion });
}

export const CREATIONS = [issue, issue, epic, branch, commit, mergeRequest, milestone, note, note, note];
