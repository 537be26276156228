import type { Contract } from "#test/contract.ts";
import { FOUND, line, MADE, NEW_TOKEN, ONLY_OWN, READ, WRITE } from "#test/matrix/line.ts";

export const contract: Contract = {
  lines: {
    "GET /personal_access_tokens": line(401, [200, 403, 403], 200, READ, { object: "user", by: "user_id" }),
    "GET /personal_access_tokens/self": line(401, 200, 200, "any", { sudo: 400, session: 400 }),
    "GET /personal_access_tokens/:id": line(401, ONLY_OWN, FOUND, READ, { object: "token" }),
    "POST /users/:user_id/personal_access_tokens": line(401, 403, MADE, WRITE, { object: "user", send: NEW_TOKEN }),
    "POST /user/personal_access_tokens": [
      line(401, 201, 201, WRITE, { send: NEW_TOKEN }),
      line(401, 400, 400, WRITE, { send: "name=*&scopes=read_api", session: 201 }),
    ],
    "POST /personal_access_tokens/self/rotate": line(401, 200, 200, "api self_rotate", {
      sudo: 400,
      session: 400,
      endsFamily: true,
    }),
    "POST /personal_access_tokens/:id/rotate": line(401, ONLY_OWN, FOUND, WRITE, { object: "token", endsFamily: true }),
    "DELETE /personal_access_tokens/self": line(401, 204, 204, "any", { sudo: 400, session: 400 }),
    "DELETE /personal_access_tokens/:id": line(401, [204, 404, 404], [204, 204, 404], WRITE, { object: "token" }),
  },
  tables: ["personal_access_tokens"],
  differing: ["token_digest", "revoked_at"],
};
