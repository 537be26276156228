import Type, { type TSchema } from "typebox";
import { type Access, administrator } from "#access/access.ts";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { endpoint, type Endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { Id } from "#http/params/vocabulary.ts";
import { moveSchema, presentMove } from "./entity.ts";
import { storageEvacuation } from "./kinds.ts";
import { type MoveRow, movesOf, movesOfRepository, oneMove } from "./queries.ts";
import { checkEvacuation, type Owner, scheduleMove } from "./schedule.ts";

/** What has a repository that administrators move, and how it is found and shown. */
export interface Movable<Container extends object = object> {
  readonly owner: Owner;
  /** Several of them, in summaries. */
  readonly many: string;
  /** The path of all moves, and that of one owner. */
  readonly all: string;
  readonly path: string;
  readonly plan?: Endpoint["plan"];
  /** The names of their operations in logs and documents. */
  readonly type: "Project";
  readonly shown: TSchema;
  /** For administrators, whether or not the owner is archived or marked for deletion. */
  readonly access: Access<Container & { readonly actor: Actor }>;
  /** The owner that the path names. */
  ownerIn(granted: Container): MovableOwner;
  /** Shows the owners of moves by their ids, with a constant number of statements. */
  show(db: Db, rows: readonly MoveRow[]): Promise<(row: MoveRow) => object | undefined>;
}

/** The compiler checks the value by types of its own, which the functions that make endpoints do not know. */
export const movable = <Container extends object>(value: Movable<Container>) => value as unknown as Movable;

interface MovableOwner {
  readonly id: number;
  readonly name: string;
  readonly repository_id: number;
}

const StorageName = Type.String({ minLength: 1, maxLength: 255 });
const Chosen = Type.Optional(
  Type.String({ maxLength: 255, description: "Chosen by the weights of the storages if left out" }),
);
const MoveId = { repository_storage_id: Id };

/** The endpoints by which administrators move repositories of one kind of owner between storages. */
export const moveEndpoints = (movable: Movable) => ({ ...reading(movable), ...scheduling(movable) });

/** What all of them have in common: moving is for who runs the installation. */
const availability = ({ plan }: Movable) => ({
  offering: ["self-managed", "dedicated"] as const,
  ...(plan !== undefined && { plan }),
});

/** The parameter that names the owner. */
const ofOwner = ({ owner }: Movable) => ({ id: Type.String({ description: `Id or full path of the ${owner}` }) });

/** An empty name means the same as none. */
const chosen = (name: string | undefined) => (name === "" ? undefined : name);

async function presentMoves({ owner, show }: Movable, db: Db, rows: readonly MoveRow[]) {
  const shown = await show(db, rows);
  return rows.map((row) => presentMove(row, owner, shown(row)));
}

async function presentOne(movable: Movable, db: Db, row: MoveRow) {
  const [view] = await presentMoves(movable, db, [row]);
  return view as object;
}

function reading(movable: Movable) {
  const { owner, many, all, path, access, ownerIn, shown } = movable;
  const Move = moveSchema(owner, shown);
  const Moves = pageOf(Move, { id: "m.id", sort: "desc", type: "StorageMove" });
  return {
    list: endpoint({
      ...availability(movable),
      method: "GET",
      path: all,
      summary: `List the moves of repositories of ${many}, newest first`,
      access: administrator(),
      params: Type.Object({}),
      returns: Moves,
      handle: async ({ db, page }) => presentMoves(movable, db, await page.rows(movesOf(db, owner))),
    }),

    get: endpoint({
      ...availability(movable),
      method: "GET",
      path: `${all}/:repository_storage_id`,
      summary: `Get a move of a repository of ${many}`,
      access: administrator(),
      params: Type.Object(MoveId),
      returns: Move,
      handle: async ({ db, params }) =>
        presentOne(movable, db, await oneMove(movesOf(db, owner), params.repository_storage_id)),
    }),

    listOfOne: endpoint({
      ...availability(movable),
      method: "GET",
      path: `${path}/repository_storage_moves`,
      summary: `List the moves of the repository of a ${owner}, newest first`,
      access,
      params: Type.Object(ofOwner(movable)),
      returns: Moves,
      async handle({ db, page, ...granted }) {
        const { repository_id } = ownerIn(granted);
        return presentMoves(movable, db, await page.rows(movesOfRepository(db, owner, repository_id)));
      },
    }),

    getOfOne: endpoint({
      ...availability(movable),
      method: "GET",
      path: `${path}/repository_storage_moves/:repository_storage_id`,
      summary: `Get a move of the repository of a ${owner}`,
      access,
      params: Type.Object({ ...ofOwner(movable), ...MoveId }),
      returns: Move,
      async handle({ db, params, ...granted }) {
        const { repository_id } = ownerIn(granted);
        const moves = movesOfRepository(db, owner, repository_id);
        return presentOne(movable, db, await oneMove(moves, params.repository_storage_id));
      },
    }),
  };
}

function scheduling(movable: Movable) {
  const { owner, many, all, path, type, access, ownerIn, shown } = movable;
  return {
    schedule: endpoint({
      ...availability(movable),
      method: "POST",
      path: `${path}/repository_storage_moves`,
      summary: `Schedule a move of the repository of a ${owner}`,
      access,
      params: Type.Object({ ...ofOwner(movable), destination_storage_name: Chosen }),
      returns: moveSchema(owner, shown),
      audit: "repository_storage_move_scheduled",
      async handle({ tx, services, params, audit, ...granted }) {
        const { id, name, repository_id: repositoryId } = ownerIn(granted);
        const destination = chosen(params.destination_storage_name);
        const settings = await services.settings.current();
        const moveId = await scheduleMove(tx, services, settings, { owner, repositoryId, destination });
        const move = await oneMove(movesOf(tx, owner), moveId);
        audit({ type, id, name, entity: { type, id }, details: { destination_storage: move.destination_storage } });
        return presentOne(movable, tx, move);
      },
    }),

    scheduleAll: endpoint({
      ...availability(movable),
      method: "POST",
      path: all,
      summary: `Schedule moves of the repositories of all ${many} on a storage`,
      access: administrator(),
      params: Type.Object({ source_storage_name: StorageName, destination_storage_name: Chosen }),
      returns: Type.Object({ message: Type.String() }, { additionalProperties: false }),
      status: 202,
      audit: "repository_storage_moves_scheduled",
      async prepare({ services, params }) {
        await checkEvacuation(services.git, params.source_storage_name, chosen(params.destination_storage_name));
        return {};
      },
      async handle({ tx, services, params, audit }) {
        const { source_storage_name: source } = params;
        const destination = chosen(params.destination_storage_name) ?? null;
        await services.jobs.add(tx, storageEvacuation, { owner, source, destination });
        // A storage has a name and no id.
        audit({
          type: "Storage",
          id: 0,
          name: source,
          details: { repositories_of: many, destination_storage: destination },
        });
        return { message: "202 Accepted" };
      },
    }),
  };
}
