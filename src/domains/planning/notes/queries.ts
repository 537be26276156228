import { sql } from "kysely";
import type { GroupSeen, ProjectSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import type { Db, Tx } from "#db/database.ts";
import { Refusal } from "#lib/refusal.ts";
import { type EpicRow, requireEpic, requireEpicByAnyId } from "#domains/planning/epics/queries.ts";
import { requireIssue } from "#domains/planning/issues/queries.ts";
import type { Item } from "#domains/planning/items/item.ts";
import { type LabelContainer, ofGroup, ofProject } from "#domains/planning/items/labels.ts";
import { noteVisibleIn } from "#domains/planning/items/visibility.ts";

/** The issue or epic whose notes an actor reads or writes. */
export interface NotesOf extends Item {
  readonly iid: number;
  readonly project_id: number | null;
  /** Whether only members may write. */
  readonly locked: boolean;
  readonly place: "project" | "group";
  readonly container: ProjectSeen | GroupSeen;
  /** Where its labels come from. */
  readonly labels: LabelContainer;
  readonly actor: Actor | null;
}

export interface InProject {
  readonly project: ProjectSeen;
  readonly actor: Actor | null;
}

export async function notesOfIssue(db: Db, { project, actor }: InProject, issueIid: number): Promise<NotesOf> {
  const { id, iid, discussion_locked } = await requireIssue(db, project, actor, issueIid);
  const item = { column: "issue_id", id, iid, project_id: project.id, locked: discussion_locked === true } as const;
  return { ...item, place: "project", container: project, labels: ofProject(project), actor };
}

export interface InGroup {
  readonly group: GroupSeen;
  readonly actor: Actor | null;
}

/** By the id of the epic, or else by its number. */
export const notesOfEpic = async (db: Db, seen: InGroup, idOrIid: number): Promise<NotesOf> =>
  onEpic(await requireEpicByAnyId(db, seen.group, seen.actor, idOrIid), seen);

export const notesOfEpicByIid = async (db: Db, seen: InGroup, iid: number): Promise<NotesOf> =>
  onEpic(await requireEpic(db, seen.group, seen.actor, iid), seen);

function onEpic({ id, iid }: EpicRow, { group, actor }: InGroup): NotesOf {
  const item = { column: "epic_id", id, iid, project_id: null, locked: false } as const;
  return { ...item, place: "group", container: group, labels: ofGroup(group), actor };
}

/** Notes without their bodies, as rows of `note`. */
export const notes = (db: Db) =>
  db
    .selectFrom("notes as note")
    .select(["note.id", "note.author_id", "note.created_at", "note.updated_at", "note.system", "note.internal"])
    .select("note.discussion_id");

export type NoteRow = Awaited<ReturnType<ReturnType<typeof notes>["executeTakeFirstOrThrow"]>> & {
  readonly body?: string;
};

/** Finds a note of an item; one that the actor may not see is answered like a missing one. */
export const requireNote = async (db: Db, of: NotesOf, id: number): Promise<NoteRow> =>
  (await visibleNote(db, of, id).executeTakeFirst()) ?? noNote();

/** The same with its body, locked against other changes. */
export const lockNote = async (tx: Tx, of: NotesOf, id: number): Promise<NoteRow & { readonly body: string }> =>
  (await visibleNote(tx, of, id).select("note.body").forUpdate("note").executeTakeFirst()) ?? noNote();

const visibleNote = (db: Db, { column, id, container, actor }: NotesOf, noteId: number) =>
  notes(db)
    .where("note.id", "=", noteId)
    .where(sql<boolean>`${sql.ref(`note.${column}`)} = ${id}`)
    .where(noteVisibleIn(container, actor));

export const noNote = (): never => {
  throw new Refusal("missing", "404 Not found");
};
