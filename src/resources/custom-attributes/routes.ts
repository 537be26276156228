import Type from "typebox";
import { administrator } from "#access/access.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { missing } from "#lib/refusal.ts";
import { CustomAttribute } from "#resources/users/entity.ts";
import { lockedUser, namedUser, targetOf } from "#resources/users/named.ts";
import { UserId } from "#resources/users/params.ts";
import { attributesOf, removeAttribute, setAttribute } from "./queries.ts";

// Key and the beginning of the value stand in one index, whose rows may not be longer than 2,704 bytes.
const Named = Type.Object({ ...UserId.properties, key: Type.String({ minLength: 1, maxLength: 255 }) });
const Valued = Type.Object({ ...Named.properties, value: Type.String({ maxLength: 10_000 }) });

/** Names and values of the administrators' choice that users carry. */
export const customAttributes = {
  list: endpoint({
    method: "GET",
    path: "/users/:id/custom_attributes",
    summary: "List the custom attributes of a user",
    access: administrator(),
    params: UserId,
    returns: pageOf(CustomAttribute, { id: "key" }),
    async handle({ db, databases, params, page }) {
      const { id } = await namedUser(databases, params.id);
      return page(attributesOf(db, id), ({ key, value }) => ({ key, value }));
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/users/:id/custom_attributes/:key",
    summary: "Get a custom attribute of a user",
    access: administrator(),
    params: Named,
    returns: CustomAttribute,
    async handle({ db, databases, params }) {
      const { id } = await namedUser(databases, params.id);
      const found = await attributesOf(db, id).where("key", "=", params.key).executeTakeFirst();
      if (!found) throw missing("Custom Attribute");
      return found;
    },
  }),

  set: endpoint({
    method: "PUT",
    path: "/users/:id/custom_attributes/:key",
    summary: "Set a custom attribute of a user",
    access: administrator(),
    params: Valued,
    returns: CustomAttribute,
    audit: "user_custom_attribute_set",
    async handle({ tx, params: { id, key, value }, audit }) {
      audit({ ...targetOf(await lockedUser(tx, id)), details: { key } });
      await setAttribute(tx, id, key, value);
      return { key, value };
    },
  }),

  remove: endpoint({
    method: "DELETE",
    path: "/users/:id/custom_attributes/:key",
    summary: "Remove a custom attribute of a user",
    access: administrator(),
    params: Named,
    audit: "user_custom_attribute_removed",
    async handle({ tx, params: { id, key }, audit }) {
      audit({ ...targetOf(await lockedUser(tx, id)), details: { key } });
      await removeAttribute(tx, id, key);
    },
  }),
};
