import type { Access, Caller } from "#access/access.ts";
import type { Actor } from "#access/actor.ts";
import { type GroupSeen, inGroup, inProject, type ProjectSeen } from "#access/containers.ts";

export type Kind = "group" | "project";

/** What someone is a member of. */
export type Place = ({ readonly kind: "group" } & GroupSeen) | ({ readonly kind: "project" } & ProjectSeen);

/** Whoever may see the place sees its members. */
export const seesMembers = (kind: Kind): Access<{ actor: Actor | null; place: Place }> =>
  kind === "group"
    ? handing(inGroup("viewer"), ({ group }) => ({ kind, ...group }))
    : handing(inProject("viewer"), ({ project }) => ({ kind, ...project }));

/** Owners choose the members of a group, Maintainers those of a project. */
export const choosesMembers = (kind: Kind): Access<{ actor: Actor; place: Place }> =>
  kind === "group"
    ? handing(inGroup("owner"), ({ group }) => ({ kind, ...group }))
    : handing(inProject("maintainer"), ({ project }) => ({ kind, ...project }));

/** The same, and everyone for themselves: nobody has to stay. */
export function choosesMembersOrLeaves(kind: Kind): Access<{ actor: Actor; place: Place }> {
  const chooses = choosesMembers(kind);
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

const isOneself = ({ actor, path }: Caller) => path["user_id"] === String(actor?.user.id);

function handing<Seen extends { readonly actor: Actor | null }>(
  rule: Access<Seen>,
  placeOf: (seen: Seen) => Place,
): Access<{ actor: Seen["actor"]; place: Place }> {
  return {
    ...rule,
    async check(caller) {
      const seen = await rule.check(caller);
      return { actor: seen.actor, place: placeOf(seen) };
    },
  };
}
