import Type from "typebox";
import { forAdministrators, inGroup } from "#access/containers.ts";
import { fullPath } from "#domains/foundation/namespaces/queries.ts";
import { GroupId } from "#domains/organization/groups/params.ts";
import { movable } from "#domains/storage/moves/endpoints.ts";
import { addWiki, wikiTarget } from "./repository.ts";

const GroupIdentity = Type.Object(
  { id: Type.Integer(), web_url: Type.String(), name: Type.String() },
  { additionalProperties: false, title: "GroupIdentity" },
);

/** The repository of a group is its wiki, which administrators move between storages. */
export const GROUP_MOVES = movable({
  owner: "group",
  many: "groups",
  all: "/group_repository_storage_moves",
  path: "/groups/:id",
  id: GroupId.properties.id,
  plan: "premium",
  type: "Group",
  shown: GroupIdentity,
  access: forAdministrators(inGroup("viewer", { signedIn: true })),
  ownerIn({ group }) {
    const container = { kind: "group", seen: group } as const;
    const { entity } = wikiTarget(container);
    return { ...group, entity, repository_id: (tx, services) => addWiki(tx, services, container) };
  },
  async show(db, rows, { site }) {
    const ids = rows.flatMap(({ group_id }) => group_id ?? []);
    if (ids.length === 0) return () => undefined;
    const groups = await db
      .selectFrom("namespaces as n")
      .select(["n.id", "n.name", fullPath("n").as("full_path")])
      .where("n.id", "in", ids)
      .execute();
    const shown = new Map(
      groups.map(({ id, name, full_path }) => [id, { id, web_url: `${site}/groups/${full_path}`, name }]),
    );
    return ({ group_id }) => shown.get(group_id ?? 0);
  },
});
