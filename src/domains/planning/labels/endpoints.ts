import type { Access } from "#access/access.ts";
import type { Actor } from "#access/principal.ts";
import { type AuditTarget, type Conditional, endpoint, type WriteContext } from "#http/endpoint.ts";
import { isNumericId } from "#http/paths.ts";
import type { LabelContainer } from "#domains/planning/items/containers.ts";
import { changeLabel, createLabel, removeLabel } from "./actions.ts";
import { Label, presentLabel } from "./entity.ts";
import { removeLabelLinks } from "./jobs.ts";
import {
  type GroupLabelChanges,
  type LabelChanges,
  LabelId,
  type LabelName,
  type NamedGroupLabelChanges,
  NamedLabel,
  type NewGroupLabel,
  ReadLabel,
} from "./params.ts";
import { type LabelRow, requireLabel } from "./queries.ts";

/** A project or a group, as far as the endpoints for one of its labels differ. */
export interface LabelsOf<Seen extends object = object> {
  readonly word: "project" | "group";
  readonly path: "/projects/:id/labels" | "/groups/:id/labels";
  readonly reader: Access<Seen & { readonly actor: Actor | null }>;
  readonly writer: Access<Seen & { readonly actor: Actor }>;
  /** Without inheritance, labels of the groups above are left out. */
  container(seen: Seen, inherits?: boolean): LabelContainer;
  /** The parameters of a project also have a priority. */
  readonly creation: typeof NewGroupLabel;
  readonly changes: typeof GroupLabelChanges;
  readonly namedChanges: typeof NamedGroupLabelChanges;
}

/** The compiler checks what a rule grants for each container by itself; the function makes the endpoints of either. */
export const labelEndpoints = <Seen extends object>(of: LabelsOf<Seen>) => {
  const either = of as unknown as LabelsOf;
  return { ...readAndCreate(either), ...change(either), ...removal(either) };
};

const readAndCreate = ({ word, path, reader, writer, container, creation }: LabelsOf) => ({
  get: endpoint({
    method: "GET",
    path: `${path}/:label_id`,
    formatSuffixAfter: isNumericId,
    summary: `Get a label of a ${word} or of the groups above`,
    access: reader,
    params: ReadLabel,
    returns: Label,
    handle: async ({ db, params, ...seen }) =>
      presentLabel(await requireLabel(db, container(seen, params.include_ancestor_groups), params)),
  }),

  create: endpoint({
    method: "POST",
    path,
    summary: `Create a label of a ${word}`,
    access: writer,
    params: creation,
    returns: Label,
    audit: "label_created",
    async handle({ params, ...write }) {
      const label = await createLabel(write.tx, container(write), params);
      write.audit(labelTarget(label));
      return presentLabel(label);
    },
  }),
});

function change({ word, path, writer: access, container, changes, namedChanges }: LabelsOf) {
  const common = { method: "PUT", access, returns: Label, audit: "label_updated" } as const;
  async function apply({ tx, audit }: WriteContext, of: LabelContainer, given: LabelName & LabelChanges) {
    const label = await changeLabel(tx, of, given, given);
    audit(labelTarget(label));
    return presentLabel(label);
  }
  return {
    update: endpoint({
      ...common,
      path: `${path}/:label_id`,
      formatSuffixAfter: isNumericId,
      summary: `Change a label of a ${word}`,
      params: changes,
      handle: ({ params, ...write }) => apply(write, container(write), params),
    }),

    updateNamed: endpoint({
      ...common,
      path,
      summary: `Change a label of a ${word} that a parameter names`,
      params: namedChanges,
      handle: ({ params, ...write }) => apply(write, container(write), params),
    }),
  };
}

function removal({ word, path, writer: access, container }: LabelsOf) {
  const common = { method: "DELETE", access, audit: "label_deleted", conditional: true } as const;
  async function remove(write: WriteContext & Conditional, of: LabelContainer, named: LabelName) {
    const label = await removeLabel(write.tx, of, named);
    write.unlessModified(label.updated_at);
    await write.services.jobs.add(write.tx, removeLabelLinks, { label_id: label.id });
    write.audit(labelTarget(label));
  }
  return {
    delete: endpoint({
      ...common,
      path: `${path}/:label_id`,
      formatSuffixAfter: isNumericId,
      summary: `Delete a label of a ${word}`,
      params: LabelId,
      handle: ({ params, ...write }) => remove(write, container(write), params),
    }),

    deleteNamed: endpoint({
      ...common,
      path,
      summary: `Delete a label of a ${word} that a parameter names`,
      params: NamedLabel,
      handle: ({ params, ...write }) => remove(write, container(write), params),
    }),
  };
}

export const labelTarget = ({ id, name, color, archived, priority, project_id, group_id }: LabelRow): AuditTarget => ({
  type: "Label",
  id,
  name,
  details: { color, archived, priority },
  entity: project_id === null ? { type: "Group", id: group_id ?? 0 } : { type: "Project", id: project_id },
});
