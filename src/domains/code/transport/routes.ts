import Type from "typebox";
import { protocolOf } from "#git/protocol.ts";
import { endpoint, plain } from "#http/endpoint.ts";
import { overHttp, requirePush } from "./access.ts";
import { receivePush } from "#domains/storage/pushes/receive.ts";
import { PUSHED } from "#domains/code/repository/audit.ts";
import { accessTo, authorize } from "#domains/code/repository/authorize.ts";
import { reauthorized } from "#domains/code/repository/reauthorize.ts";
import { advertise, fetchPack, requireType } from "./packs.ts";

const git = { mount: "root", errors: "git", limit: "git" } as const;
const ProjectPath = Type.Object({
  project: Type.String({
    description: "Path of the repository: of a project, of a wiki with `.wiki`, or of a snippet",
  }),
});
const service = Type.Enum(["git-upload-pack", "git-receive-pack"]);

export const repositories = {
  refs: endpoint({
    ...git,
    method: "GET",
    path: "/*project.git/info/refs",
    summary: "Advertise the refs of a repository to git",
    access: overHttp("read"),
    params: Type.Object({ ...ProjectPath.properties, service }),
    returns: plain("application/x-git-upload-pack-advertisement"),
    async handle({ services, principal, consumer, owned, params, header, setHeader, gone, failed }) {
      const pushes = params.service === "git-receive-pack";
      if (pushes) requirePush(principal);
      const access = pushes
        ? await authorize(services, principal, owned, "push", consumer)
        : await accessTo(services, principal, owned, "read", consumer);
      setHeader("cache-control", "no-cache");
      setHeader("content-type", `application/x-${params.service}-advertisement`);
      const protocol = protocolOf(header("git-protocol"));
      return advertise(access, params.service, { protocol, signal: gone(), failed });
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
    async handle({ services, principal, consumer, owned, body, header, setHeader, gone, failed }) {
      requireType(header("content-type"), "git-upload-pack");
      const access = await accessTo(services, principal, owned, "read", consumer);
      setHeader("cache-control", "no-cache");
      const protocol = protocolOf(header("git-protocol"));
      return fetchPack(access, body, { protocol, signal: gone(), failed });
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
    audit: PUSHED,
    returns: plain("application/x-git-receive-pack-result"),
    async handle({
      services,
      principal,
      consumer,
      owned,
      body,
      header,
      setHeader,
      gone,
      failed,
      reauthenticate,
      auditEntry,
    }) {
      requireType(header("content-type"), "git-receive-pack");
      const granted = await accessTo(services, principal, owned, "receive", consumer);
      const access = reauthorized(services, granted, reauthenticate);
      setHeader("cache-control", "no-cache");
      const answer = await receivePush(services, access, body, {
        signal: gone(),
        audit: auditEntry(owned.kind.auditTarget(owned.owner)),
        failed,
        halfDuplex: true,
      });
      services.lifecycle.pushes++;
      return answer.once("close", () => services.lifecycle.pushes--);
    },
  }),
};
