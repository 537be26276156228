import { sql } from "kysely";
import type { TestApp, TestUser } from "#test/support/app.ts";
import type { Random } from "#test/support/random.ts";

export const VISIBILITIES = ["private", "internal", "public"] as const;
export const FEATURES = ["issues", "merge_requests", "repository"] as const;
export type Visibility = (typeof VISIBILITIES)[number];
export type Feature = (typeof FEATURES)[number];

export interface Person {
  readonly user: TestUser;
  readonly admin: boolean;
  hasPrivateProfile: boolean;
}

interface Shared {
  readonly id: number;
  readonly path: string;
  visibility: Visibility;
  /** The levels that people have by memberships of their own. */
  readonly levels: Map<Person, number>;
}

export interface Group extends Shared {
  readonly type: "group";
  readonly parent: Group | null;
}

export interface Project extends Shared {
  readonly type: "project";
  readonly parent: Group;
  readonly features: Record<Feature, "disabled" | "private" | "enabled">;
  /** Branches without a merge request. */
  readonly branches: string[];
}

export type Container = Group | Project;

interface Thing {
  readonly id: number;
  readonly path: string;
  readonly place: Container;
  /** The title, or the text of a comment. */
  readonly title: string;
  isOpen: boolean;
  isGone: boolean;
}

export interface Item extends Thing {
  readonly type: "Issue" | "Epic" | "MergeRequest";
  readonly author: Person;
  confidential: boolean;
}

export interface Milestone extends Thing {
  readonly type: "Milestone";
}

export interface Note extends Thing {
  readonly type: "Note";
  readonly on: Item;
  readonly internal: boolean;
  readonly inDiscussion: boolean;
}

export type Target = Item | Milestone | Note;
export type Action = "created" | "closed" | "reopened" | "commented" | "pushed" | "joined" | "left" | "destroyed";

export interface Happened {
  readonly place: Container;
  readonly author: Person;
  readonly action: Action;
  readonly target: Target | null;
}

export interface World {
  readonly people: readonly Person[];
  readonly admin: Person;
  readonly groups: readonly Group[];
  readonly projects: readonly Project[];
  readonly targets: Target[];
  /** The oldest first. */
  readonly events: Happened[];
}

const PEOPLE = 6;
const TREES = 2;
export const LEVELS = [10, 15, 20, 30] as const;

/** Two groups with a group in each, a project in every group, and people of whom some are members. */
export async function makeWorld(app: TestApp, random: Random): Promise<World> {
  const admin = await person(app, true);
  const others = await Promise.all(Array.from({ length: PEOPLE }, () => person(app, false)));
  const people = [admin, ...others];
  const { token } = admin.user;

  async function make(path: string, payload: object): Promise<number> {
    const { status, body, text } = await app.post(path, { token, payload });
    if (status !== 201) throw new Error(`POST ${path}: ${status} ${text}`);
    return body.id;
  }
  async function makeGroup(name: string, parent: Group | null): Promise<Group> {
    const id = await make("/groups", { name, path: name, visibility: "public", parent_id: parent?.id });
    return { type: "group", id, path: `/groups/${id}`, parent, visibility: "public", levels: new Map([[admin, 50]]) };
  }
  async function makeProject(name: string, parent: Group): Promise<Project> {
    const payload = { name, namespace_id: parent.id, visibility: "public", initialize_with_readme: true };
    const id = await make("/projects", payload);
    const features = { issues: "enabled", merge_requests: "enabled", repository: "enabled" } as const;
    const common = { id, path: `/projects/${id}`, parent, features: { ...features }, branches: [] };
    return { type: "project", ...common, visibility: "public", levels: new Map() };
  }

  const groups: Group[] = [];
  for (let tree = 0; tree < TREES; tree++) {
    const top = await makeGroup(`tree-${tree}`, null);
    groups.push(top, await makeGroup(`tree-${tree}-below`, top));
  }
  const projects: Project[] = [];
  for (const group of groups) projects.push(await makeProject(`project-${projects.length}`, group));
  for (const place of [...groups, ...projects])
    for (const who of others) if (random.chance(0.25)) await setLevel(app, place, who, random.pick(LEVELS));
  // The model begins with an empty feed.
  await sql`delete from events`.execute(app.services.db.write);
  return { people, admin, groups, projects, targets: [], events: [] };
}

async function person(app: TestApp, admin: boolean): Promise<Person> {
  return { user: await app.makeUser({ admin }), admin, hasPrivateProfile: false };
}

/** Makes somebody a member, or no member if the level is 0, without an event. */
export async function setLevel({ services }: TestApp, place: Container, who: Person, level: number) {
  const column = sql.ref(place.type === "group" ? "group_id" : "project_id");
  const { write } = services.db;
  await sql`delete from members where ${column} = ${place.id} and user_id = ${who.user.id}`.execute(write);
  place.levels.delete(who);
  if (level === 0) return;
  await sql`
    insert into members (${column}, user_id, access_level) values (${place.id}, ${who.user.id}, ${level})`.execute(
    write,
  );
  place.levels.set(who, level);
}
