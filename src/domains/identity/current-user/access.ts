import { type Access, defineRule, USERS } from "#access/access.ts";
import type { Actor } from "#access/principal.ts";
import { missing } from "#lib/refusal.ts";
import { type Account, findAccount } from "#domains/identity/users/queries.ts";
import { currentUserByDigest, type CurrentUserRow } from "./queries.ts";

/** The caller's own account: the statement that finds the token also reads the whole user. */
export const currentAccount = (): Access<{
  actor: Actor;
  user: Account;
  identities: CurrentUserRow["identities"] | undefined;
}> =>
  defineRule({
    rule: "anyone who is signed in",
    admits: USERS,
    scopes: ["read_user"],
    findToken: (db, digest) => db.point.load(currentUserByDigest, digest),
    async check({ db, principal: actor, row }) {
      if (row) {
        const user = row as CurrentUserRow;
        return { actor, user, identities: user.identities ?? [] };
      }
      const user = await findAccount(db, actor.user.id);
      if (!user) throw missing("User");
      return { actor, user, identities: undefined };
    },
  });
