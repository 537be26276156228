import type { Static, TObject, TProperties } from "typebox";
import type { Access } from "#access/access.ts";
import { inGroup, inProject } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import type { Endpoint } from "#http/endpoint.ts";
import { EpicByAnyId, EpicId, EPICS_API } from "#domains/planning/epics/params.ts";
import { IssueId } from "#domains/planning/issues/params.ts";
import { type NotesOf, notesOfEpic, notesOfEpicByIid, notesOfIssue } from "./queries.ts";
import type { WritableNotes } from "./rights.ts";

/** Where the items of one kind are in the API, who may read and write what belongs to one, and how one is found. */
export interface Noteable<Container extends object = object, Path extends TProperties = TProperties> {
  readonly path: string;
  /** The parameters of the path. */
  readonly params: TObject<Path>;
  /** What an item is called in summaries. */
  readonly one: string;
  readonly availability: Pick<Endpoint, "plan" | "deprecated">;
  readonly reader: Access<Container & { readonly actor: Actor | null }>;
  readonly signedIn: Access<Container & { readonly actor: Actor }>;
  readonly writer: Access<Container & { readonly actor: Actor }>;
  /** Refuses an item that the actor may not see like a missing one. */
  find(db: Db, seen: Container & { readonly actor: Actor | null }, params: Static<TObject<Path>>): Promise<NotesOf>;
}

interface WriteRequest {
  readonly actor: Actor;
  readonly params: Record<string, unknown>;
}

/** The item that a request to write something on it names. */
export const writableNotes = async (
  { find }: Pick<Noteable, "find">,
  tx: Db,
  { params, ...seen }: WriteRequest,
): Promise<WritableNotes> => ({ ...(await find(tx, seen, params)), actor: seen.actor });

/** The compiler checks a kind by types of its own, which functions that make endpoints of any kind do not know. */
export const noteable = <Container extends object, Path extends TProperties>(kind: Noteable<Container, Path>) =>
  kind as unknown as Noteable;

export const ISSUES = noteable({
  path: "/projects/:id/issues/:issue_iid",
  params: IssueId,
  one: "an issue",
  availability: {},
  reader: inProject("viewer", { feature: "issues" }),
  signedIn: inProject("viewer", { feature: "issues", signedIn: true }),
  writer: inProject("viewer", { feature: "issues", signedIn: true, unlessArchived: true }),
  find: (db, seen, { issue_iid }) => notesOfIssue(db, seen, issue_iid),
});

const ofEpics = {
  one: "an epic",
  availability: EPICS_API,
  reader: inGroup("viewer"),
  signedIn: inGroup("viewer", { signedIn: true }),
  writer: inGroup("viewer", { signedIn: true, unlessArchived: true }),
} as const;

export const EPICS = noteable({
  ...ofEpics,
  path: "/groups/:id/epics/:epic_id",
  params: EpicByAnyId,
  find: (db, seen, { epic_id }) => notesOfEpic(db, seen, epic_id),
});

export const EPICS_BY_IID = noteable({
  ...ofEpics,
  path: "/groups/:id/epics/:epic_iid",
  params: EpicId,
  find: (db, seen, { epic_iid }) => notesOfEpicByIid(db, seen, epic_iid),
});
