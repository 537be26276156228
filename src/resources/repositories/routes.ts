import Type from "typebox";
import { protocolOf } from "#git/protocol.ts";
import { endpoint, plain } from "#http/endpoint.ts";
import { overHttp, requirePush } from "./access.ts";
import { callerOf } from "./caller.ts";
import { openProject } from "./opening.ts";
import { advertise, fetchPack, requireType } from "./packs.ts";
import { receivePush } from "./push.ts";

const git = { mount: "root", errors: "git", limit: "git" } as const;
const ProjectPath = Type.Object({ project: Type.String({ description: "Full path of the project" }) });
const service = Type.Enum(["git-upload-pack", "git-receive-pack"]);

export const repositories = {
  refs: endpoint({
    ...git,
    method: "GET",
    path: "/*project.git/info/refs",
    summary: "Tell git the refs of a repository",
    access: overHttp("read"),
    params: Type.Object({ ...ProjectPath.properties, service }),
    returns: plain("application/x-git-upload-pack-advertisement"),
    async handle({ services, actor, caller, consumer, project, params, header, setHeader, gone }) {
      const pushes = params.service === "git-receive-pack";
      if (pushes) requirePush(actor);
      const opened = await openProject(services, caller, project, pushes ? "push" : "read", consumer);
      setHeader("cache-control", "no-cache");
      setHeader("content-type", `application/x-${params.service}-advertisement`);
      const protocol = protocolOf(header("git-protocol"));
      return advertise(opened, params.service, { protocol, signal: gone(), log: services.log });
    },
  }),

  fetch: endpoint({
    ...git,
    method: "POST",
    path: "/*project.git/git-upload-pack",
    summary: "Fetch from a repository with git",
    access: overHttp("read"),
    params: ProjectPath,
    body: "stream",
    transaction: "own",
    status: 200,
    audit: null,
    returns: plain("application/x-git-upload-pack-result"),
    async handle({ services, caller, consumer, project, body, header, setHeader, gone }) {
      requireType(header("content-type"), "git-upload-pack");
      const opened = await openProject(services, caller, project, "read", consumer);
      setHeader("cache-control", "no-cache");
      const protocol = protocolOf(header("git-protocol"));
      return fetchPack(opened, body, { protocol, signal: gone(), log: services.log });
    },
  }),

  push: endpoint({
    ...git,
    method: "POST",
    path: "/*project.git/git-receive-pack",
    summary: "Push to a repository with git",
    access: overHttp("push"),
    params: ProjectPath,
    body: "stream",
    transaction: "own",
    status: 200,
    audit: null,
    returns: plain("application/x-git-receive-pack-result"),
    async handle({ services, caller, consumer, project, body, header, setHeader, gone, reauthenticate }) {
      requireType(header("content-type"), "git-receive-pack");
      const opened = await openProject(services, caller, project, "push", consumer);
      const access = { ...opened, reauthenticate: async () => callerOf(await reauthenticate()) };
      setHeader("cache-control", "no-cache");
      const answer = await receivePush(services, access, body, { signal: gone() });
      services.lifecycle.pushes++;
      return answer.once("close", () => services.lifecycle.pushes--);
    },
  }),
};
