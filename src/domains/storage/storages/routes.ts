import Type from "typebox";
import { administrator } from "#access/access.ts";
import { endpoint } from "#http/endpoint.ts";
import { StorageView } from "./entity.ts";
import { storageViews } from "./queries.ts";

export const storages = {
  list: endpoint({
    method: "GET",
    path: "/admin/storages",
    summary: "List the storages of repositories with their weights, free space and health",
    access: administrator(),
    params: Type.Object({}),
    returns: Type.Array(StorageView),
    offering: ["self-managed", "dedicated"],
    handle: ({ db, databases, services }) => storageViews(db, databases, services),
  }),
};
