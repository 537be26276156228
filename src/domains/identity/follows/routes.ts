import { signedIn } from "#access/access.ts";
import type { Actor } from "#access/principal.ts";
import type { Databases } from "#db/database.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { missing } from "#lib/refusal.ts";
import { canSeeProfile } from "#domains/identity/users/access.ts";
import { UserSummary } from "#domains/identity/users/entity.ts";
import { targetOf, userById } from "#domains/identity/users/named.ts";
import { UserId } from "#domains/identity/users/params.ts";
import { presentSummary } from "#domains/identity/users/present.ts";
import { follow, unfollow } from "./actions.ts";
import { followedBy, followersOf } from "./queries.ts";

const Summaries = pageOf(UserSummary, { id: "u.id" });
const reads = signedIn({ scopes: ["read_user"] });

export const follows = {
  followers: endpoint({
    method: "GET",
    path: "/users/:id/followers",
    summary: "List the followers of a user",
    access: reads,
    params: UserId,
    returns: Summaries,
    async handle({ db, databases, actor, params, page, site }) {
      await requireVisibleProfile(databases, actor, params.id);
      return page(followersOf(db, params.id, actor), presentSummary(site));
    },
  }),

  following: endpoint({
    method: "GET",
    path: "/users/:id/following",
    summary: "List the users that a user follows",
    access: reads,
    params: UserId,
    returns: Summaries,
    async handle({ db, databases, actor, params, page, site }) {
      await requireVisibleProfile(databases, actor, params.id);
      return page(followedBy(db, params.id, actor), presentSummary(site));
    },
  }),

  follow: endpoint({
    method: "POST",
    path: "/users/:id/follow",
    summary: "Follow a user",
    access: signedIn(),
    params: UserId,
    returns: UserSummary,
    audit: "user_followed",
    unchanged: true,
    async handle({ tx, actor, params, site, audit }) {
      const user = await follow(tx, actor, params.id);
      audit(targetOf(user));
      return presentSummary(site)(user);
    },
  }),

  unfollow: endpoint({
    method: "POST",
    path: "/users/:id/unfollow",
    summary: "Stop following a user",
    access: signedIn(),
    params: UserId,
    returns: UserSummary,
    audit: "user_unfollowed",
    unchanged: true,
    async handle({ tx, actor, params, site, audit }) {
      const user = await unfollow(tx, actor, params.id);
      audit(targetOf(user));
      return presentSummary(site)(user);
    },
  }),
};

/** Followers are part of the profile: a hidden one answers as a user who does not exist. */
async function requireVisibleProfile(databases: Databases, actor: Actor, id: number) {
  if (!canSeeProfile(actor, await userById(databases, id))) throw missing("User");
}
