import Type from "typebox";
import { Id } from "#http/params/vocabulary.ts";
import { GroupId } from "#domains/organization/groups/params.ts";

export const AccountId = Type.Object({ ...GroupId.properties, user_id: Id });
export const AccountTokenId = Type.Object({ ...AccountId.properties, token_id: Id });
