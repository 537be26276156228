import Type from "typebox";
import { administrator } from "#access/access.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { CustomAttribute } from "#domains/identity/users/entity.ts";
import { lockedUser, targetOf, userById } from "#domains/identity/users/named.ts";
import { UserId } from "#domains/identity/users/params.ts";
import { removeAttribute, setAttribute } from "./actions.ts";
import { attributeOf, attributesOf } from "./queries.ts";

// One index has the key and the beginning of the value, and its rows may be at most 2,704 bytes long.
const AttributeKey = Type.Object({ ...UserId.properties, key: Type.String({ minLength: 1, maxLength: 255 }) });
const NewAttribute = Type.Object({ ...AttributeKey.properties, value: Type.String({ maxLength: 10_000 }) });

/** Keys and values that administrators attach to users. */
export const customAttributes = {
  list: endpoint({
    method: "GET",
    path: "/users/:id/custom_attributes",
    summary: "List the custom attributes of a user",
    access: administrator(),
    params: UserId,
    returns: pageOf(CustomAttribute, { id: "key" }),
    async handle({ db, databases, params, page }) {
      const { id } = await userById(databases, params.id);
      return page(attributesOf(db, id), ({ key, value }) => ({ key, value }));
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/users/:id/custom_attributes/:key",
    summary: "Get a custom attribute of a user",
    access: administrator(),
    params: AttributeKey,
    returns: CustomAttribute,
    async handle({ db, databases, params }) {
      const { id } = await userById(databases, params.id);
      return attributeOf(db, id, params.key);
    },
  }),

  set: endpoint({
    method: "PUT",
    path: "/users/:id/custom_attributes/:key",
    summary: "Set a custom attribute of a user",
    access: administrator(),
    params: NewAttribute,
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
    params: AttributeKey,
    audit: "user_custom_attribute_removed",
    conditional: true,
    async handle({ tx, params: { id, key }, audit, unlessModified }) {
      audit({ ...targetOf(await lockedUser(tx, id)), details: { key } });
      const { updated_at } = await removeAttribute(tx, id, key);
      unlessModified(updated_at);
    },
  }),
};
