import Type, { type Static } from "typebox";
import type { Db, Tx } from "#db/database.ts";
import { type AuditTarget, endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { UserSummary } from "#domains/identity/users/entity.ts";
import { presentSummary } from "#domains/identity/users/present.ts";
import { summariesOf, userSummaries } from "#domains/identity/users/queries.ts";
import type { Services } from "#services.ts";
import { managesMembers, managesMembersOrLeaves, type Kind, type MemberContainer, seesMembers } from "./access.ts";
import { addMembers, changeMember, BATCH_SIZE, noSuchMember, removeBelow, removeMember } from "./actions.ts";
import { Member, MembersAdded, presentMember } from "./entity.ts";
import { removeMembershipsBelow } from "./jobs.ts";
import { listMembers } from "./list.ts";
import { MemberChanges, MemberFilters, MemberId, NewMembers, Removal, UserFilters } from "./params.ts";
import { directOnly, everySource, type MemberRow, members, type Sources } from "./queries.ts";

export const groupMembers = membersOf("group");
export const projectMembers = membersOf("project");

export const projectUsers = {
  users: endpoint({
    method: "GET",
    path: "/projects/:id/users",
    summary: "List the users of a project",
    access: seesMembers("project"),
    params: UserFilters,
    returns: pageOf(UserSummary, { id: "u.id" }),
    async handle({ db, actor, container, params: { search }, page, site }) {
      const sources = await everySource(db, actor, container);
      const listed = listMembers(container, sources, search === undefined ? {} : { query: search });
      return page(userSummaries(db), presentSummary(site), listed);
    },
  }),
};

function membersOf(kind: Kind) {
  return { ...memberReads(kind), ...memberWrites(kind), ...memberRemoval(kind) };
}

function memberReads(kind: Kind) {
  const path = `/${kind}s/:id/members` as const;
  const Members = pageOf(Member, { id: "u.id", keyset: ["id"] });
  return {
    list: endpoint({
      method: "GET",
      path,
      summary: `List the members of a ${kind}`,
      access: seesMembers(kind),
      params: MemberFilters,
      returns: Members,
      async handle({ db, container, params, page, site }) {
        const sources = directOnly(container);
        const rows = await page.rows(members(db, container, sources), listMembers(container, sources, params));
        return presented(db, rows, site);
      },
    }),

    listAll: endpoint({
      method: "GET",
      path: `${path}/all`,
      summary: `List the members of a ${kind}, those from groups above and from shares included`,
      access: seesMembers(kind),
      params: MemberFilters,
      returns: Members,
      async handle({ db, actor, container, params, page, site }) {
        const sources = await everySource(db, actor, container);
        const rows = await page.rows(members(db, container, sources), listMembers(container, sources, params));
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
      handle: ({ db, container, params, site }) => member(db, container, directOnly(container), params.user_id, site),
    }),

    getAny: endpoint({
      method: "GET",
      path: `${path}/all/:user_id`,
      summary: `Get a member of a ${kind}, one from groups above or from shares included`,
      access: seesMembers(kind),
      params: MemberId,
      returns: Member,
      handle: async ({ db, actor, container, params, site }) =>
        member(db, container, await everySource(db, actor, container), params.user_id, site),
    }),
  };
}

function memberWrites(kind: Kind) {
  const path = `/${kind}s/:id/members` as const;
  return {
    add: endpoint({
      method: "POST",
      path,
      summary: `Add one or several members to a ${kind}`,
      access: managesMembers(kind),
      params: NewMembers(kind),
      returns: Type.Union([Member, MembersAdded]),
      audit: "member_added",
      async handle({ tx, actor, container, params, audit, site }) {
        const { user_id = [], username, access_level, expires_at } = params;
        const whom = username ? { usernames: username } : { ids: [user_id].flat() };
        const users = await addMembers({ tx, actor, container }, whom, params);
        const [first] = users;
        audit({
          ...auditOf(container, first?.id ?? 0, users.map((user) => user.username).join(", ")),
          details: { user_ids: users.map(({ id }) => id), access_level, expires_at: expires_at ?? null },
        });
        if (!first || users.length > 1) return { status: "success" };
        return member(tx, container, directOnly(container), first.id, site);
      },
    }),

    update: endpoint({
      method: "PUT",
      path: `${path}/:user_id`,
      summary: `Change a member of a ${kind}`,
      access: managesMembers(kind),
      params: MemberChanges(kind),
      returns: Member,
      audit: "member_updated",
      async handle({ tx, actor, container, params, audit, site }) {
        const write = { tx, actor, container };
        const { username, updated_at: _, ...before } = await changeMember(write, params.user_id, params);
        const view = await member(tx, container, directOnly(container), params.user_id, site);
        const { access_level, expires_at } = view;
        audit({ ...auditOf(container, params.user_id, username), details: { access_level, expires_at, before } });
        return view;
      },
    }),
  };
}

function memberRemoval(kind: Kind) {
  return {
    remove: endpoint({
      method: "DELETE",
      path: `/${kind}s/:id/members/:user_id`,
      summary: `Remove a member from a ${kind}, or leave it`,
      access: managesMembersOrLeaves(kind),
      params: Removal,
      audit: "member_removed",
      conditional: true,
      async handle({ tx, actor, container, params, audit, services, unlessModified }) {
        const { username, at, updated_at, ...before } = await removeMember({ tx, actor, container }, params.user_id);
        unlessModified(updated_at);
        if (kind === "group" && !params.skip_subresources)
          await leaveBelow(tx, services, container.id, params.user_id, at);
        audit({ ...auditOf(container, params.user_id, username), details: { before } });
      },
    }),
  };
}

const auditOf = (container: MemberContainer, id: number, name: string): AuditTarget => ({
  type: "Member",
  id,
  name,
  entity: { type: container.kind === "group" ? "Group" : "Project", id: container.id },
});

async function member(db: Db, container: MemberContainer, sources: Sources, userId: number, site: string) {
  const row = await members(db, container, sources).where("u.id", "=", userId).executeTakeFirst();
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

/** Removes a former member from everything below the group; a job continues if that is more than a batch. */
async function leaveBelow(tx: Tx, { jobs }: Services, group_id: number, user_id: number, until: string) {
  const removed = await removeBelow(tx, group_id, user_id, until);
  if (removed === BATCH_SIZE) await jobs.add(tx, removeMembershipsBelow, { group_id, user_id, until });
}
