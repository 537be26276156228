import Type, { type Static } from "typebox";
import type { Db, Tx } from "#db/database.ts";
import { type AuditTarget, endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { summariesOf } from "#resources/users/queries.ts";
import type { Services } from "#services.ts";
import { choosesMembers, choosesMembersOrLeaves, type Kind, type Place, seesMembers } from "./access.ts";
import { addMembers, changeMember, MOST_AT_ONCE, noSuchMember, removeBelow, removeMember } from "./actions.ts";
import { Member, MembersAdded, presentMember } from "./entity.ts";
import { removeMembershipsBelow } from "./jobs.ts";
import { listMembers } from "./list.ts";
import { MemberChanges, MemberFilters, MemberId, NewMembers, Removal } from "./params.ts";
import { directOnly, everySource, type MemberRow, members, type Sources } from "./queries.ts";

export const groupMembers = membersOf("group");
export const projectMembers = membersOf("project");

function membersOf(kind: Kind) {
  const path = `/${kind}s/:id/members` as const;
  const pageTo = (farthest: number) =>
    pageOf(Member, { id: "u.id", keyset: ["id"], offsetLimit: { rows: farthest, type: "Member" } });
  return {
    list: endpoint({
      method: "GET",
      path,
      summary: `List the members of a ${kind}`,
      access: seesMembers(kind),
      params: MemberFilters,
      returns: pageTo(50_000),
      async handle({ db, place, params, page, site }) {
        const sources = directOnly(place);
        const rows = await page.rows(members(db, place, sources), await listMembers(db, place, sources, params));
        return presented(db, rows, site);
      },
    }),

    listAll: endpoint({
      method: "GET",
      path: `${path}/all`,
      summary: `List the members of a ${kind}, those from groups above and from shares included`,
      access: seesMembers(kind),
      params: MemberFilters,
      // Each source is read as far as the page is.
      returns: pageTo(10_000),
      async handle({ db, actor, place, params, page, site }) {
        const sources = await everySource(db, actor, place);
        const rows = await page.rows(members(db, place, sources), await listMembers(db, place, sources, params));
        return presented(db, rows, site);
      },
    }),

    get: endpoint({
      method: "GET",
      path: `${path}/:user_id`,
      summary: `Get a member of a ${kind}`,
      access: seesMembers(kind),
      params: MemberId,
      returns: Member,
      handle: ({ db, place, params, site }) => member(db, place, directOnly(place), params.user_id, site),
    }),

    getAny: endpoint({
      method: "GET",
      path: `${path}/all/:user_id`,
      summary: `Get a member of a ${kind}, one from groups above or from shares included`,
      access: seesMembers(kind),
      params: MemberId,
      returns: Member,
      handle: async ({ db, actor, place, params, site }) =>
        member(db, place, await everySource(db, actor, place), params.user_id, site),
    }),

    add: endpoint({
      method: "POST",
      path,
      summary: `Add one or several members to a ${kind}`,
      access: choosesMembers(kind),
      params: NewMembers(kind),
      returns: Type.Union([Member, MembersAdded]),
      audit: "member_added",
      async handle({ tx, actor, place, params, audit, site }) {
        const { user_id = [], username, access_level, expires_at } = params;
        const whom = username ? { usernames: username } : { ids: [user_id].flat() };
        const users = await addMembers({ tx, actor, place }, whom, params);
        const [first] = users;
        audit({
          ...auditOf(place, first?.id ?? 0, users.map((user) => user.username).join(", ")),
          details: { user_ids: users.map(({ id }) => id), access_level, expires_at: expires_at ?? null },
        });
        if (!first || users.length > 1) return { status: "success" };
        return member(tx, place, directOnly(place), first.id, site);
      },
    }),

    update: endpoint({
      method: "PUT",
      path: `${path}/:user_id`,
      summary: `Change a member of a ${kind}`,
      access: choosesMembers(kind),
      params: MemberChanges(kind),
      returns: Member,
      audit: "member_updated",
      async handle({ tx, actor, place, params, audit, site }) {
        const { username, ...before } = await changeMember({ tx, actor, place }, params.user_id, params);
        const view = await member(tx, place, directOnly(place), params.user_id, site);
        const { access_level, expires_at } = view;
        audit({ ...auditOf(place, params.user_id, username), details: { access_level, expires_at, before } });
        return view;
      },
    }),

    remove: endpoint({
      method: "DELETE",
      path: `${path}/:user_id`,
      summary: `Remove a member from a ${kind}, or leave it`,
      access: choosesMembersOrLeaves(kind),
      params: Removal,
      audit: "member_removed",
      async handle({ tx, actor, place, params, audit, services }) {
        const { username, at, ...before } = await removeMember({ tx, actor, place }, params.user_id);
        if (kind === "group" && !params.skip_subresources) await leaveBelow(tx, services, place.id, params.user_id, at);
        audit({ ...auditOf(place, params.user_id, username), details: { before } });
      },
    }),
  };
}

const auditOf = (place: Place, id: number, name: string): AuditTarget => ({
  type: "Member",
  id,
  name,
  entity: { type: place.kind === "group" ? "Group" : "Project", id: place.id },
});

async function member(db: Db, place: Place, sources: Sources, userId: number, site: string) {
  const row = await members(db, place, sources).where("u.id", "=", userId).executeTakeFirst();
  const [view] = row ? await presented(db, [row], site) : [];
  if (!view) throw noSuchMember();
  return view;
}

async function presented(db: Db, rows: readonly MemberRow[], site: string): Promise<Static<typeof Member>[]> {
  const ids = new Set(rows.flatMap(({ created_by_id }) => created_by_id ?? []));
  const found = ids.size > 0 ? await summariesOf(db, [...ids]) : [];
  const creators = new Map(found.map((creator) => [creator.id, creator]));
  return rows.map((row) => presentMember(row, site, creators.get(row.created_by_id ?? 0)));
}

/** Who leaves a group leaves what is below it; where that is much, a job goes on with it. */
async function leaveBelow(tx: Tx, { jobs }: Services, group_id: number, user_id: number, until: string) {
  const removed = await removeBelow(tx, group_id, user_id, until);
  if (removed === MOST_AT_ONCE) await jobs.add(tx, removeMembershipsBelow, { group_id, user_id, until });
}
