import Type, { type Static } from "typebox";
import { noteDraft } from "#domains/conversation/notes/params.ts";

export const discussion = { discussion_id: Type.String({ description: "40 hexadecimal digits" }) };

const { body, created_at } = noteDraft;
/** What a reply in a discussion is made of. */
export const reply = { body, created_at };
export type Reply = Static<Type.TObject<typeof discussion & typeof reply>>;
