import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { group, insert, insertForIds, membership, project } from "#test/matrix/rows.ts";
import type { TestApp, TestUser } from "#test/support/app.ts";
import type { Random } from "#test/support/random.ts";

export type Kind = "issue" | "epic";

/** A project with issues, or a group with epics. */
export interface Container {
  readonly kind: Kind;
  readonly id: number;
  visibility: "private" | "internal" | "public";
  /** Who may use issues; groups have no such setting. */
  issues: "disabled" | "private" | "enabled";
  /** The levels of users by their ids. */
  readonly levels: Map<number, number>;
}

export interface Item {
  readonly kind: Kind;
  readonly id: number;
  readonly iid: number;
  readonly place: Container;
  readonly author: number | null;
  readonly title: string;
  readonly path: string;
  confidential: boolean;
}

export interface Caller {
  /** Null if anonymous. */
  readonly user: TestUser | null;
  readonly admin: boolean;
}

export interface World {
  readonly callers: readonly Caller[];
  readonly places: readonly Container[];
  readonly items: readonly Item[];
}

/** Ids that no other number in a response looks like, so that every one of them is found. */
const FIRST_ID = { issue: 700_000_000, epic: 710_000_000 } as const;
export const ITEM_ID = /\b7[01]\d{7}\b/g;
export const TITLE = /title-[0-9a-f-]{36}/g;

const PLACES = 4;
const ITEMS_A_PLACE = 6;
const LEVELS = [0, 0, 0, 10, 15, 30];

/** Four projects and four groups, each in a tree of its own, with a few issues or epics, and callers of every kind. */
export async function makeWorld(app: TestApp, random: Random): Promise<World> {
  const db = app.services.db.write;
  const users = await Promise.all(Array.from({ length: 6 }, () => app.makeUser()));
  const admin = await app.makeUser({ admin: true });
  const groups = await insertForIds(
    db,
    "namespaces",
    [...Array(2 * PLACES)].map(() => group(null)),
  );
  const homes = groups.slice(0, PLACES);
  const projects = await insertForIds(
    db,
    "projects",
    homes.map((home) => project(home)),
  );
  const places = [
    ...projects.map((id) => ({ kind: "issue", id }) as const),
    ...groups.slice(PLACES).map((id) => ({ kind: "epic", id }) as const),
  ].map(({ kind, id }): Container => {
    const levels = users.map((user) => [user.id, random.pick(LEVELS)] as const).filter(([, level]) => level > 0);
    return { kind, id, visibility: "public", issues: "enabled", levels: new Map(levels) };
  });
  await insert(
    db,
    "members",
    places.flatMap(({ kind, id, levels }) =>
      [...levels].map(([user, level]) => ({
        ...membership(kind === "issue" ? { project_id: id } : { group_id: id }, user, "guest"),
        access_level: level,
      })),
    ),
  );
  const items = places.flatMap((place, at) =>
    [...Array(ITEMS_A_PLACE).keys()].map((n) => itemOf(place, n, at, random.pick([null, ...users])?.id ?? null)),
  );
  for (const item of items) await insertItem(app, item);
  return {
    callers: [
      { user: null, admin: false },
      { user: admin, admin: true },
      ...users.map((user) => ({ user, admin: false })),
    ],
    places,
    items,
  };
}

function itemOf(place: Container, n: number, at: number, author: number | null): Item {
  const { kind, id } = place;
  const path = kind === "issue" ? `/projects/${id}/issues/${n + 1}` : `/groups/${id}/epics/${n + 1}`;
  return {
    ...{ kind, place, author, path, iid: n + 1, id: FIRST_ID[kind] + at * 1013 + n * 17 },
    ...{ title: `title-${randomUUID()}`, confidential: false },
  };
}

const insertItem = ({ services }: TestApp, { kind, id, iid, place, author, title }: Item) =>
  sql`insert into ${sql.table(`${kind}s`)} (id, iid, ${sql.ref(kind === "issue" ? "project_id" : "group_id")}, author_id, title)
    values (${id}, ${iid}, ${place.id}, ${author}, ${title})`.execute(services.db.write);
