import Type from "typebox";
import { Text } from "#http/params/vocabulary.ts";

const Password = Type.String({ minLength: 1, maxLength: 1024 });

/** A code of an authenticator app, or a recovery code. */
export const Code = Type.String({ minLength: 1, maxLength: 64, description: "A code of the app, or a recovery code" });

export const CurrentPassword = { current_password: Password };

export const SignIn = Type.Object({
  login: Type.String({ ...Text(255), description: "Username or email address" }),
  password: Password,
  otp_attempt: Type.Optional(Code),
  new_password: Type.Optional(Type.String({ maxLength: 1024, description: "Replaces a password that has expired" })),
});

export const NewPassword = Type.Object({ ...CurrentPassword, password: Password });
