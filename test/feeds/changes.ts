import { sql } from "kysely";
import { isItem } from "./creations.ts";
import { hasLevel, levelIn, seesItem } from "./model.ts";
import {
  FEATURES,
  type Item,
  LEVELS,
  type Milestone,
  type Person,
  setLevel,
  type Target,
  VISIBILITIES,
} from "./world.ts";
import { DEVELOPER, existing, happened, PLANNER, plannersIn, send, type WriteContext } from "./write-context.ts";

/** Who may close and reopen an item or a milestone. */
function closersOf(context: WriteContext, target: Item | Milestone): Person[] {
  if (target.type === "Milestone") return plannersIn(context, target.place);
  const least = target.type === "MergeRequest" ? DEVELOPER : PLANNER;
  const isForAuthor = target.type !== "Epic";
  return context.world.people.filter(
    (who) => seesItem(who, target) && (hasLevel(who, target.place, least) || (isForAuthor && who === target.author)),
  );
}

const hasState = (target: Target): target is Item | Milestone => target.type !== "Note";

async function state(context: WriteContext) {
  const target = existing(context, hasState);
  const who = target && context.random.pick(closersOf(context, target));
  if (!who) return;
  const reopen = target.type === "Milestone" ? "activate" : "reopen";
  await send(context, "PUT", target.path, who, { state_event: target.isOpen ? "close" : reopen });
  target.isOpen = !target.isOpen;
  happened(context, target.place, who, target.isOpen ? "reopened" : "closed", target);
}

/** Nobody can use the API of a feature that is switched off. */
function isInUse({ place, ...target }: Target): boolean {
  const type = target.type === "Note" ? target.on.type : target.type;
  const feature = type === "MergeRequest" ? "merge_requests" : "issues";
  return place.type === "group" || place.features[feature] !== "disabled";
}

async function confidentiality(context: WriteContext) {
  const item = existing(context, isItem, (each) => each.type !== "MergeRequest" && isInUse(each));
  if (!item) return;
  await send(context, "PUT", item.path, context.world.admin, { confidential: !item.confidential });
  item.confidential = !item.confidential;
}

async function removal(context: WriteContext) {
  const { admin, targets } = context.world;
  const target = existing(context, (each): each is Target => isInUse(each));
  if (!target) return;
  await send(context, "DELETE", target.path, admin);
  target.isGone = true;
  for (const each of targets) if (each.type === "Note" && each.on === target) each.isGone = true;
  if (target.type === "Milestone") happened(context, target.place, admin, "destroyed", target);
}

async function membership(context: WriteContext) {
  const { random, world } = context;
  const place = random.pick(world.projects);
  const who = someMember(context);
  const members = `${place.path}/members`;
  if (place.levels.has(who)) {
    await send(context, "DELETE", `${members}/${who.user.id}`, world.admin);
    place.levels.delete(who);
    happened(context, place, who, "left");
    return;
  }
  const level = random.pick(LEVELS.filter((each) => each >= levelIn(who, place.parent)));
  if (!level) return;
  await send(context, "POST", members, world.admin, { user_id: who.user.id, access_level: level });
  place.levels.set(who, level);
  happened(context, place, who, "joined");
}

const someMember = ({ random, world }: WriteContext): Person => random.pick(world.people.filter(({ admin }) => !admin));

export const CHANGES = [state, state, state, confidentiality, removal, membership, membership];

const VALUES = { private: 0, internal: 10, public: 20 } as const;

async function visibility({ app, random, world }: WriteContext) {
  const place = random.pick([...world.groups, ...world.projects]);
  place.visibility = random.pick(VISIBILITIES);
  const table = sql.table(place.type === "group" ? "namespaces" : "projects");
  await sql`update ${table} set visibility = ${VALUES[place.visibility]} where id = ${place.id}`.execute(
    app.services.db.write,
  );
}

async function featureAccess({ app, random, world }: WriteContext) {
  const project = random.pick(world.projects);
  const feature = random.pick(FEATURES);
  const access = random.pick(["disabled", "private", "enabled", "enabled"] as const);
  project.features[feature] = access;
  const column = sql.ref(`${feature}_access_level`);
  await sql`update projects set ${column} = ${access} where id = ${project.id}`.execute(app.services.db.write);
}

async function groupMembership(context: WriteContext) {
  const { app, random, world } = context;
  await setLevel(app, random.pick(world.groups), someMember(context), random.pick([0, 0, ...LEVELS]));
}

async function profile(context: WriteContext) {
  const who = someMember(context);
  who.hasPrivateProfile = !who.hasPrivateProfile;
  await sql`update users set private_profile = ${who.hasPrivateProfile} where id = ${who.user.id}`.execute(
    context.app.services.db.write,
  );
}

/** Changes of what people see, which leave no event; the API would refuse some of them. */
export const CHANGES_OF_RIGHTS = [visibility, featureAccess, groupMembership, profile];
