import Type from "typebox";
import { DateTime, Id, Text } from "#http/params/vocabulary.ts";
import { UserId } from "#domains/identity/users/params.ts";

const USAGES = ["auth_and_signing", "auth", "signing"] as const;

const newKey = {
  key: Text(16_384),
  title: Type.Optional(Type.String({ maxLength: 255, description: "By default the comment of the key" })),
  expires_at: Type.Optional(DateTime),
  usage_type: Type.Optional(Type.Enum([...USAGES])),
};

export const NewKey = Type.Object(newKey);
export const NewKeyOfUser = Type.Object({ ...UserId.properties, ...newKey });
export const KeyId = Type.Object({ key_id: Id });
export const KeyOfUser = Type.Object({ ...UserId.properties, ...KeyId.properties });
export const UserIdOrName = Type.Object({
  id: Type.String({ maxLength: 255, description: "Id or username" }),
});
export const Fingerprint = Type.Object({
  fingerprint: Text(255),
});
