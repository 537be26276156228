import Type from "typebox";

/** Whether somebody signs in with a second factor. */
export const SecondFactor = Type.Object(
  { enabled: Type.Boolean(), recovery_codes_left: Type.Integer() },
  { additionalProperties: false, title: "SecondFactor" },
);

/** What an authenticator app needs; shown this once. */
export const NewSecondFactor = Type.Object(
  {
    secret: Type.String({ description: "In base 32, to be typed into an app" }),
    uri: Type.String({ description: "The same as an address, to be shown as a QR code" }),
  },
  { additionalProperties: false, title: "NewSecondFactor" },
);

/** Codes for whoever loses their app; each works once, and they are shown this once. */
export const RecoveryCodes = Type.Object(
  { recovery_codes: Type.Array(Type.String()) },
  { additionalProperties: false, title: "RecoveryCodes" },
);
