import Type, { type Static, type TSchema } from "typebox";
import { type Access, administrator } from "#access/access.ts";
import type { Actor } from "#access/principal.ts";
import type { Db, Tx } from "#db/database.ts";
import { type AuditTarget, endpoint, type Endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { Id } from "#http/params/vocabulary.ts";
import type { Services } from "#services.ts";
import { moveSchema, presentMove } from "./entity.ts";
import { storageEvacuation } from "./kinds.ts";
import { type MoveRow, movesOf, movesOfOwner, oneMove } from "./queries.ts";
import { checkEvacuation, type Owner, scheduleMove } from "./schedule.ts";

/** What has a repository that administrators move, and how it is found and shown. */
export interface Movable<Container extends object = object, OwnerId extends TSchema = TSchema> {
  readonly owner: Owner;
  /** Several of them, in summaries. */
  readonly many: string;
  /** The path of all moves, and that of one owner. */
  readonly all: string;
  readonly path: string;
  /** The parameter `:id` of that path. */
  readonly id: OwnerId;
  readonly plan?: Endpoint["plan"];
  /** The names of their operations in logs and documents. */
  readonly type: "Project" | "Snippet" | "Group";
  readonly shown: TSchema;
  /** For administrators, whether or not the owner is archived or marked for deletion. */
  readonly access: Access<Container & { readonly actor: Actor }>;
  /** Finds the owner that the path names. */
  ownerIn(request: OwnerRequest<OwnerId> & Container): MovableOwner | Promise<MovableOwner>;
  /** Shows the owners of moves by their ids, with a constant number of statements. */
  show(db: Db, rows: readonly MoveRow[], viewer: MoveViewer): Promise<(row: MoveRow) => object | undefined>;
}

interface OwnerRequest<OwnerId extends TSchema> {
  readonly actor: Actor;
  readonly services: Services;
  readonly params: { readonly id: Static<OwnerId> };
}

/** The compiler checks the value by types of its own, which the functions that make endpoints do not know. */
export const movable = <Container extends object, OwnerId extends TSchema>(value: Movable<Container, OwnerId>) =>
  value as unknown as Movable;

/** What links to owners depend on. */
interface MoveViewer {
  readonly site: string;
  readonly services: Pick<Services, "config">;
}

interface MovableOwner {
  readonly id: number;
  readonly name: string;
  /** The repository that moves; a function if it is added only now. */
  readonly repository_id: number | ((tx: Tx, services: Services) => Promise<number>);
  /** Whose audit log shows its moves. */
  readonly entity: AuditTarget["entity"];
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

/** An empty name means the same as none. */
const chosen = (name: string | undefined) => (name === "" ? undefined : name);

async function presentMoves({ owner, show }: Movable, db: Db, viewer: MoveViewer, rows: readonly MoveRow[]) {
  const shown = await show(db, rows, viewer);
  return rows.map((row) => presentMove(row, owner, shown(row)));
}

async function presentOne(movable: Movable, db: Db, viewer: MoveViewer, row: MoveRow) {
  const [view] = await presentMoves(movable, db, viewer, [row]);
  return view as object;
}

function reading(movable: Movable) {
  const { owner, many, all, path, id, access, ownerIn, shown } = movable;
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
      handle: async ({ db, page, ...viewer }) => presentMoves(movable, db, viewer, await page.rows(movesOf(db, owner))),
    }),

    get: endpoint({
      ...availability(movable),
      method: "GET",
      path: `${all}/:repository_storage_id`,
      summary: `Get a move of a repository of ${many}`,
      access: administrator(),
      params: Type.Object(MoveId),
      returns: Move,
      handle: async ({ db, params, ...viewer }) =>
        presentOne(movable, db, viewer, await oneMove(movesOf(db, owner), params.repository_storage_id)),
    }),

    listOfOne: endpoint({
      ...availability(movable),
      method: "GET",
      path: `${path}/repository_storage_moves`,
      summary: `List the moves of the repository of a ${owner}, newest first`,
      access,
      params: Type.Object({ id }),
      returns: Moves,
      async handle({ db, page, ...request }) {
        const owned = await ownerIn(request);
        return presentMoves(movable, db, request, await page.rows(movesOfOwner(db, owner, owned.id)));
      },
    }),

    getOfOne: endpoint({
      ...availability(movable),
      method: "GET",
      path: `${path}/repository_storage_moves/:repository_storage_id`,
      summary: `Get a move of the repository of a ${owner}`,
      access,
      params: Type.Object({ id, ...MoveId }),
      returns: Move,
      async handle({ db, ...request }) {
        const owned = await ownerIn(request);
        const moves = movesOfOwner(db, owner, owned.id);
        return presentOne(movable, db, request, await oneMove(moves, request.params.repository_storage_id));
      },
    }),
  };
}

function scheduling(movable: Movable) {
  const { owner, many, all, path, id, type, access, ownerIn, shown } = movable;
  return {
    schedule: endpoint({
      ...availability(movable),
      method: "POST",
      path: `${path}/repository_storage_moves`,
      summary: `Schedule a move of the repository of a ${owner}`,
      access,
      params: Type.Object({ id, destination_storage_name: Chosen }),
      returns: moveSchema(owner, shown),
      audit: "repository_storage_move_scheduled",
      prepare: async (request) => ({ moving: await ownerIn(request) }),
      async handle({ tx, services, params, audit, site, moving: { id, name, repository_id, entity } }) {
        const destination = chosen(params.destination_storage_name);
        const settings = await services.settings.current();
        const repositoryId = typeof repository_id === "number" ? repository_id : await repository_id(tx, services);
        const moveId = await scheduleMove(tx, services, settings, { owner, repositoryId, destination });
        const move = await oneMove(movesOf(tx, owner), moveId);
        const details = { destination_storage: move.destination_storage };
        audit({ type, id, name, ...(entity && { entity }), details });
        return presentOne(movable, tx, { site, services }, move);
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
