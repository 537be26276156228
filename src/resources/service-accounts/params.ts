import Type from "typebox";
import { Id } from "#http/params/vocabulary.ts";
import { GroupId } from "#resources/groups/params.ts";

/** What may be chosen of a service account; a blank value is as good as none. */
export const AccountFields = {
  name: Type.Optional(Type.String({ maxLength: 255 })),
  username: Type.Optional(Type.String({ maxLength: 255 })),
  email: Type.Optional(Type.String({ maxLength: 254 })),
};

export const AccountId = Type.Object({ ...GroupId.properties, user_id: Id });
export const AccountTokenId = Type.Object({ ...AccountId.properties, token_id: Id });
