import Type from "typebox";
import { signedIn } from "#access/access.ts";
import { inGroup, inProject } from "#access/containers.ts";
import { auditedForOthers, endpoint } from "#http/endpoint.ts";
import { GroupId } from "#domains/organization/groups/params.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { changeLevel, changeSettings } from "./actions.ts";
import { NotificationLevel, NotificationSettings } from "./entity.ts";
import { SettingsChanges, GroupChanges, ProjectChanges } from "./params.ts";
import { levelIn, type Container, settingsOf } from "./queries.ts";

const ofGroup = ({ id }: { readonly id: number }): Container => ({ column: "group_id", id });
const ofProject = ({ id }: { readonly id: number }): Container => ({ column: "project_id", id });

export const notificationSettings = {
  get: endpoint({
    method: "GET",
    path: "/notification_settings",
    summary: "Get how much mail the caller gets, and to which address",
    access: signedIn(),
    params: Type.Object({}),
    returns: NotificationSettings,
    handle: ({ db, actor }) => settingsOf(db, actor.user.id),
  }),

  update: endpoint({
    method: "PUT",
    path: "/notification_settings",
    summary: "Set how much mail the caller gets, and to which of their confirmed addresses",
    access: signedIn(),
    params: SettingsChanges,
    returns: NotificationSettings,
    audit: auditedForOthers("notification_settings_changed"),
    async handle({ tx, actor, params }) {
      await changeSettings(tx, actor.user.id, params);
      return settingsOf(tx, actor.user.id);
    },
  }),

  getOfGroup: endpoint({
    method: "GET",
    path: "/groups/:id/notification_settings",
    summary: "Get how much mail about a group and what is below it the caller gets",
    access: inGroup("viewer", { signedIn: true }),
    params: GroupId,
    returns: NotificationLevel,
    handle: ({ db, actor, group }) => levelIn(db, actor.user.id, ofGroup(group)),
  }),

  updateOfGroup: endpoint({
    method: "PUT",
    path: "/groups/:id/notification_settings",
    summary: "Set how much mail about a group and what is below it the caller gets",
    access: inGroup("viewer", { signedIn: true }),
    params: GroupChanges,
    returns: NotificationLevel,
    audit: auditedForOthers("notification_settings_changed"),
    async handle({ tx, actor, group, params }) {
      await changeLevel(tx, actor.user.id, ofGroup(group), params.level);
      return levelIn(tx, actor.user.id, ofGroup(group));
    },
  }),

  getOfProject: endpoint({
    method: "GET",
    path: "/projects/:id/notification_settings",
    summary: "Get how much mail about a project the caller gets",
    access: inProject("viewer", { signedIn: true }),
    params: ProjectId,
    returns: NotificationLevel,
    handle: ({ db, actor, project }) => levelIn(db, actor.user.id, ofProject(project)),
  }),

  updateOfProject: endpoint({
    method: "PUT",
    path: "/projects/:id/notification_settings",
    summary: "Set how much mail about a project the caller gets",
    access: inProject("viewer", { signedIn: true }),
    params: ProjectChanges,
    returns: NotificationLevel,
    audit: auditedForOthers("notification_settings_changed"),
    async handle({ tx, actor, project, params }) {
      await changeLevel(tx, actor.user.id, ofProject(project), params.level);
      return levelIn(tx, actor.user.id, ofProject(project));
    },
  }),
};
