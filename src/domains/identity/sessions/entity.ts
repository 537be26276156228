import Type, { type Static } from "typebox";
import { CurrentUser } from "#domains/identity/users/entity.ts";
import { Nullable } from "#http/params/vocabulary.ts";
import type { SessionRow } from "./queries.ts";

const Time = Type.String({ format: "date-time" });

/** A browser in which a user is signed in. */
export const Session = Type.Object(
  {
    id: Type.Integer(),
    created_at: Time,
    last_seen_at: Type.String({ format: "date-time", description: "Written at most every ten minutes" }),
    ip_address: Nullable(Type.String()),
    user_agent: Type.String(),
    current: Type.Boolean({ description: "Whether the request is made by this session" }),
  },
  { additionalProperties: false, title: "Session" },
);

/** The answer to signing in; the session's secret is in a cookie that scripts cannot read. */
export const NewSession = Type.Object(
  {
    csrf_token: Type.String({ description: "To be repeated in the header X-CSRF-Token" }),
    expires_at: Time,
    user: CurrentUser,
  },
  { additionalProperties: false, title: "NewSession" },
);

export const presentSession =
  (current: number | undefined) =>
  ({ id, created_at, last_seen_at, ip_address, user_agent }: SessionRow): Static<typeof Session> => ({
    id,
    created_at,
    last_seen_at,
    ip_address,
    user_agent,
    current: id === current,
  });
