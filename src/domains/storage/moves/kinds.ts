import Type from "typebox";

const exact = { additionalProperties: false };

/** Moves one repository. */
export const repositoryMove = {
  name: "storage_moves.move",
  queue: "moves",
  payload: Type.Object(
    {
      move_id: Type.Integer(),
      // Enough to remove copies after the repository was deleted with its moves.
      path: Type.String(),
      destination: Type.String(),
    },
    exact,
  ),
  backoff: { first: 1, max: 60 },
} as const;

/** Removes the source of a move after the switch. */
export const moveCleanup = {
  name: "storage_moves.clean_up",
  queue: "git",
  payload: Type.Object({ move_id: Type.Integer(), storage: Type.String(), path: Type.String() }, exact),
} as const;

/** Schedules the moves of all repositories of a storage. */
export const storageEvacuation = {
  name: "storage_moves.evacuate",
  queue: "bulk",
  payload: Type.Object(
    {
      owner: Type.String(),
      source: Type.String(),
      destination: Type.Union([Type.String(), Type.Null()]),
    },
    exact,
  ),
  key: ({ owner, source }: { readonly owner: string; readonly source: string }) => `${owner} ${source}`,
} as const;
