import Type from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";

/** A place for repositories, as administrators see it. */
export const StorageView = Type.Object(
  {
    name: Type.String(),
    weight: Type.Integer({
      description: "How likely it is chosen for a new repository, relative to the other weights",
    }),
    healthy: Type.Boolean({ description: "Whether this process can write to it" }),
    free_bytes: Nullable(Type.Integer({ description: "Null if it cannot be reached" })),
    total_bytes: Nullable(Type.Integer()),
    repositories_count: Type.Integer({ description: "Counted up to 10,000" }),
    moves_count: Type.Integer({ description: "Moves away from it that are scheduled or started, up to 10,000" }),
  },
  { additionalProperties: false, title: "Storage" },
);
