import { randomUUID } from "node:crypto";
import type { TestApp } from "#test/support/app.ts";
import type { Random } from "#test/support/random.ts";
import { hasLevel, seesGroup, uses } from "./model.ts";
import type { Action, Feature, Person, Container, Project, Target, World } from "./world.ts";

export const PLANNER = 15;
export const DEVELOPER = 30;

/** What a write needs: where it is sent, and the world that is told what happened. */
export interface WriteContext {
  readonly app: TestApp;
  readonly random: Random;
  readonly world: World;
}

export const newTitle = () => `title-${randomUUID()}`;

/** A write that the server refused, although the plain model permits it. */
export class WriteRefused extends Error {}

export async function send(
  { app }: WriteContext,
  method: "POST" | "PUT" | "DELETE",
  path: string,
  who: Person,
  payload?: object,
): Promise<any> {
  const { status, text, body } = await app.call(method, path, { token: who.user.token, ...(payload && { payload }) });
  if (status >= 300) throw new WriteRefused(`${method} ${path}: ${status} ${text}`);
  return body;
}

export function happened({ world }: WriteContext, place: Container, author: Person, action: Action, target?: Target) {
  world.events.push({ place, author, action, target: target ?? null });
}

/** Something that was created, with its event. */
export function created(context: WriteContext, author: Person, target: Target) {
  context.world.targets.push(target);
  happened(context, target.place, author, target.type === "Note" ? "commented" : "created", target);
}

/** One of those that are not gone. */
export function existing<T extends Target>(
  { random, world }: WriteContext,
  isSuch: (target: Target) => target is T,
  mayBe: (target: T) => boolean = () => true,
): T | undefined {
  return random.pick(world.targets.filter(isSuch).filter((target) => !target.isGone && mayBe(target)));
}

/** Those who may use all of some features of a project, and have at least a level in it. */
export const usersOf = ({ world }: WriteContext, project: Project, features: readonly Feature[], least = 0): Person[] =>
  world.people.filter(
    (who) => features.every((feature) => uses(who, project, feature)) && (least === 0 || hasLevel(who, project, least)),
  );

/** Those who may plan in a place. */
export const plannersIn = (context: WriteContext, place: Container): Person[] =>
  place.type === "project"
    ? usersOf(context, place, ["issues"], PLANNER)
    : context.world.people.filter((who) => hasLevel(who, place, PLANNER) && seesGroup(who, place, context.world));
