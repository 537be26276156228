import type { Access, Caller } from "#access/access.ts";
import { type Actor, actorOf } from "#access/principal.ts";
import { type GroupSeen, inGroup, inProject, type ProjectSeen } from "#access/containers.ts";

export type Kind = "group" | "project";

/** A group or project that has members. */
export type MemberContainer = ({ readonly kind: "group" } & GroupSeen) | ({ readonly kind: "project" } & ProjectSeen);

/** Everyone who may see a group or project may see its members. */
export const seesMembers = (kind: Kind): Access<{ actor: Actor | null; container: MemberContainer }> =>
  kind === "group"
    ? handing(inGroup("viewer"), ({ group }) => ({ kind, ...group }))
    : handing(inProject("viewer"), ({ project }) => ({ kind, ...project }));

/** Owners manage the members of a group, Maintainers those of a project. */
export const managesMembers = (kind: Kind): Access<{ actor: Actor; container: MemberContainer }> =>
  kind === "group"
    ? handing(inGroup("owner"), ({ group }) => ({ kind, ...group }))
    : handing(inProject("maintainer"), ({ project }) => ({ kind, ...project }));

/** The same, and every member may remove themselves. */
export function managesMembersOrLeaves(kind: Kind): Access<{ actor: Actor; container: MemberContainer }> {
  const chooses = managesMembers(kind);
  const leaves =
    kind === "group"
      ? handing(inGroup("viewer", { signedIn: true }), ({ group }) => ({ kind, ...group }))
      : handing(inProject("viewer", { signedIn: true }), ({ project }) => ({ kind, ...project }));
  return {
    ...chooses,
    rule: `${chooses.rule}, or the member themselves`,
    check: (caller) => (isOneself(caller) ? leaves : chooses).check(caller),
  };
}

const isOneself = ({ principal, path }: Caller) => path["user_id"] === String(actorOf(principal)?.user.id);

function handing<Seen extends { readonly actor: Actor | null }>(
  rule: Access<Seen>,
  placeOf: (seen: Seen) => MemberContainer,
): Access<{ actor: Seen["actor"]; container: MemberContainer }> {
  return {
    ...rule,
    async check(caller) {
      const seen = await rule.check(caller);
      return { actor: seen.actor, container: placeOf(seen) };
    },
  };
}
