import Type from "typebox";
import { inRepository } from "#access/code.ts";
import { ARCHIVE_FORMATS, type ArchiveFormat, streamArchive } from "#git/objects/archives.ts";
import { treePath } from "#git/objects/names.ts";
import { findEntry } from "#git/objects/trees.ts";
import { endpoint, plain } from "#http/endpoint.ts";
import { missing } from "#lib/refusal.ts";
import { FilePath, Revision } from "#domains/code/commits/params.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { attachment } from "#domains/code/repository/raw.ts";
import { openAt } from "#domains/code/repository/reading.ts";

/** Clients name the format by the suffix of the path, and differ in which they use. */
const archive = <Path extends `/projects/:id/repository/archive${string}`>(path: Path, format: ArchiveFormat) =>
  endpoint({
    method: "GET",
    path,
    summary: `Get the files of a repository as ${format}`,
    access: inRepository("read", { scopes: ["read_repository"] }),
    params: Type.Object({
      ...ProjectId.properties,
      sha: Type.Optional(Revision),
      path: Type.Optional(FilePath),
    }),
    returns: plain(ARCHIVE_FORMATS[format]),
    async handle({ services, project, consumer, params, setHeader }) {
      const { repository, commit } = await openAt({ services, project, consumer }, params.sha, "File");
      const path = treePath(params.path ?? "");
      if (path === undefined || (path !== "" && !(await findEntry(repository, commit, path)))) throw missing("File");
      const parts = [
        project.path,
        params.sha ?? project.default_branch ?? "HEAD",
        commit,
        ...(path === "" ? [] : [path]),
      ];
      const directory = parts
        .join("-")
        .replaceAll(/[^\w.-]/g, "-")
        .slice(0, 200);
      setHeader("content-disposition", attachment(`${directory}.${format}`));
      return streamArchive(repository, { commit, format, directory, path });
    },
  });

export const archives = {
  get: archive("/projects/:id/repository/archive", "tar.gz"),
  getTarGz: archive("/projects/:id/repository/archive.tar.gz", "tar.gz"),
  getTgz: archive("/projects/:id/repository/archive.tgz", "tar.gz"),
  getTar: archive("/projects/:id/repository/archive.tar", "tar"),
  getZip: archive("/projects/:id/repository/archive.zip", "zip"),
};
