import Type from "typebox";

/** Whether a user signs in with a second factor. */
export const SecondFactor = Type.Object(
  { enabled: Type.Boolean(), recovery_codes_left: Type.Integer() },
  { additionalProperties: false, title: "SecondFactor" },
);

/** What an authenticator app needs; shown only once. */
export const NewSecondFactor = Type.Object(
  {
    secret: Type.String({ description: "In base32, to type into an app" }),
    uri: Type.String({ description: "The same as an `otpauth` URI, to show as a QR code" }),
  },
  { additionalProperties: false, title: "NewSecondFactor" },
);

/** Codes for a lost authenticator; each works once, and they are shown only once. */
export const RecoveryCodes = Type.Object(
  { recovery_codes: Type.Array(Type.String()) },
  { additionalProperties: false, title: "RecoveryCodes" },
);
