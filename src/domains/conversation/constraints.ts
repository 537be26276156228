import type { Constraints } from "#db/errors.ts";
import { badFields, conflict, missing } from "#lib/refusal.ts";

const noUser = () => missing("User");

/** A foreign key refuses a row if another request deleted the referenced one meanwhile. */
export const conversationConstraints: Constraints = {
  notes_author_id_fkey: noUser,
  award_emoji_note_id_fkey: () => missing("Note"),
  award_emoji_user_id_fkey: noUser,
  award_emoji_name_form: () => badFields({ name: ["is not the name of an emoji"] }),
  award_emoji_of_note_taken: () => conflict("Name has already been taken"),
};
