import { hasRole } from "#access/containers.ts";
import { type Actor, isAdministrator } from "#access/principal.ts";
import { forbidden } from "#lib/refusal.ts";
import type { WritableItem } from "#domains/conversation/items/resource.ts";
import type { NoteRow } from "./queries.ts";

/** Refuses those who may not write where the discussion is locked. */
export function refuseIfLocked({ locked, actor, container }: WritableItem) {
  if (locked && !hasRole(actor, container, "guest"))
    throw forbidden("The discussion is locked: only members write in it");
}

const isAuthor = ({ author_id }: NoteRow, actor: Actor) => author_id === actor.user.id;

export function refuseChange(of: WritableItem, note: NoteRow) {
  refuseIfLocked(of);
  refuseOfRecord(note);
  if (!isAuthor(note, of.actor) && !isAdministrator(of.actor)) throw forbidden("Only its author changes a note");
}

export function refuseRemoval(of: WritableItem, note: NoteRow) {
  refuseIfLocked(of);
  refuseOfRecord(note);
  if (!isAuthor(note, of.actor) && !hasRole(of.actor, of.container, "maintainer")) {
    throw forbidden(`Deleting the note of another user requires at least the Maintainer role in the ${of.place}`);
  }
}

/** What happened stays recorded as it was. */
function refuseOfRecord({ system }: NoteRow) {
  if (system) throw forbidden("A note that records a change stays as it is");
}
