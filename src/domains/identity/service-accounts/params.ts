import Type from "typebox";

/** The fields of a service account that can be chosen; a blank value counts as absent. */
export const AccountFields = {
  name: Type.Optional(Type.String({ maxLength: 255 })),
  username: Type.Optional(Type.String({ maxLength: 255 })),
  email: Type.Optional(Type.String({ maxLength: 254 })),
};
