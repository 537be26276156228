import Type, { type TSchema } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import { type MoveRow, REPOSITORY_TYPES } from "./queries.ts";
import { MOVE_STATES } from "./state.ts";

const exact = { additionalProperties: false };
const Time = Type.String({ format: "date-time" });

const Progress = Type.Object(
  {
    phase: Type.String({ description: "What the worker does: waiting for pushes, copying, verifying, comparing, …" }),
    bytes: Type.Integer({ description: "Bytes copied so far" }),
    total_bytes: Nullable(Type.Integer()),
    percent: Nullable(Type.Integer({ minimum: 0, maximum: 100 })),
  },
  { ...exact, title: "StorageMoveProgress" },
);

const common = {
  id: Type.Integer(),
  created_at: Time,
  state: Type.Enum([...MOVE_STATES]),
  repository_type: Type.Enum([...REPOSITORY_TYPES], { description: "What is in the repository" }),
  source_storage_name: Type.String(),
  destination_storage_name: Type.String(),
  error_message: Nullable(Type.String({ description: "Why the move failed, or why its source could not be removed" })),
  progress: Nullable(Progress),
  started_at: Nullable(Time),
  finished_at: Nullable(Time),
};

/** A move, with what its repository belongs to under that name. */
export const moveSchema = (owner: string, shown: TSchema): TSchema =>
  Type.Object(
    { ...common, [owner]: Nullable(shown) },
    { ...exact, title: `${owner[0]?.toUpperCase()}${owner.slice(1)}RepositoryStorageMove` },
  );

export function presentMove(row: MoveRow, owner: string, shown: object | undefined) {
  const { phase, bytes, total_bytes, source_storage, destination_storage, ...rest } = row;
  return {
    id: rest.id,
    created_at: rest.created_at,
    state: rest.state,
    repository_type: rest.repository_type,
    source_storage_name: source_storage,
    destination_storage_name: destination_storage,
    error_message: rest.error_message,
    progress:
      phase === null
        ? null
        : {
            phase,
            bytes: bytes ?? 0,
            total_bytes,
            percent: total_bytes === null ? null : percentOf(bytes ?? 0, total_bytes),
          },
    started_at: rest.started_at,
    finished_at: rest.finished_at,
    [owner]: shown ?? null,
  };
}

export const percentOf = (bytes: number, total: number) => (total === 0 ? 100 : Math.floor((100 * bytes) / total));
