import fc, { type Arbitrary } from "fast-check";
import type { Endpoint } from "#http/endpoint.ts";
import { changeFile, type Code, FILES, ODD_BRANCHES, ODD_FILES, SPARE, spareBranch, spareTag } from "./code.ts";
import { Pieces } from "./marks.ts";

type Values = Readonly<Record<string, Arbitrary<unknown>>>;

/** Whether an endpoint reads or writes a repository. */
export const isAboutCode = ({ method, path }: Pick<Endpoint, "method" | "path">) =>
  path.includes("/repository/") || path.startsWith("/*project") || opensMergeRequest({ method, path });

const opensMergeRequest = ({ method, path }: Pick<Endpoint, "method" | "path">) =>
  method === "POST" && path === "/projects/:id/merge_requests";

const fresh = fc.nat(2 ** 31).map((number) => `fz-${number.toString(36)}`);
const spare = (nameOf: (at: number) => string) => fc.constantFrom(...SPARE).map(nameOf);
const branch = fc.oneof(spare(spareBranch), fc.constantFrom("main", ...ODD_BRANCHES));
const tag = spare(spareTag);
const file = fc.constantFrom(...FILES, changeFile(0), changeFile(3));
const directory = fc.constantFrom("docs", "docs/a", "docs/a/b/", "/src", "ünï", "changes", "");
const content = fc.constantFrom("text\n", "", "ünï\r\n", "# Title\n\nmore");

/** Values for the parameters of such an endpoint that name something in a repository. */
export function codeValues({ method, path }: Endpoint, code: Code): Values {
  const { commits, topics, blobs, places } = code;
  const id = fc.constantFrom(...commits, ...topics.map(({ commit }) => commit));
  const revision = fc.oneof(
    { arbitrary: branch, weight: 3 },
    { arbitrary: tag, weight: 1 },
    { arbitrary: id, weight: 3 },
    { arbitrary: id.map((whole) => whole.slice(0, 10)), weight: 1 },
    { arbitrary: fc.constantFrom("HEAD", "refs/heads/main", "refs/tags/v0.1"), weight: 1 },
  );
  const makes = method === "POST";
  return {
    project: fc
      .tuple(fc.constantFrom(...places), fc.constantFrom(".git", ".git", ""))
      .map(([place, ending]) => new Pieces(place.path + ending)),
    ...Object.fromEntries(["ref", "ref_name", "from", "to", "refs"].map((name) => [name, revision])),
    sha: path.includes("/blobs/") ? fc.constantFrom(...blobs) : revision,
    branch: makes && path.endsWith("/branches") ? fresh : branch,
    start_branch: branch,
    source_branch: branch,
    target_branch: branch,
    tag_name: makes ? fresh : tag,
    file_path: makes ? fresh.map((name) => `new/${name}`) : file,
    path: path.endsWith("/tree") ? directory : fc.oneof(file, directory),
    start_sha: id,
    last_commit_id: id,
    actions: action,
    content,
    encoding: fc.constant("text"),
    start_project: fc.constantFrom(...places.map((place) => String(place.id))),
    page_token: fc.oneof(branch, tag, file),
    search: fc.constantFrom("feature", "^v0", "9$", "ünï", "main"),
    author: fc.constantFrom("Ada", "ada@example.com", "."),
  };
}

const action: Arbitrary<unknown> = fc.oneof(
  {
    arbitrary: fc.record({ action: fc.constant("create"), file_path: fresh.map((name) => `made/${name}`), content }),
    weight: 4,
  },
  { arbitrary: fc.record({ action: fc.constant("update"), file_path: file, content }), weight: 2 },
  { arbitrary: fc.record({ action: fc.constant("delete"), file_path: file }), weight: 1 },
  {
    arbitrary: fc.record({ action: fc.constant("move"), file_path: fresh, previous_path: file }),
    weight: 1,
  },
  {
    arbitrary: fc.record({ action: fc.constant("chmod"), file_path: file, execute_filemode: fc.boolean() }),
    weight: 1,
  },
);

/** Commits with branches on which they can be cherry-picked or reverted. */
export function codePairs({
  places,
  topics,
  commits,
}: Code): Readonly<Record<string, readonly Record<string, unknown>[]>> {
  const everywhere = (pairs: readonly Record<string, unknown>[]) =>
    places.flatMap(({ id }) => pairs.map((pair) => ({ id, ...pair })));
  const branches = SPARE.map(spareBranch);
  const found = everywhere([
    ...[...FILES, changeFile(2), "picture.bin"].flatMap((file_path) => [{ file_path, ref: "main" }, { file_path }]),
    ...ODD_FILES.map((file_path) => ({ file_path, ref: "odd" })),
  ]);
  return {
    ...Object.fromEntries(
      ["", "/raw", "/blame"].map((rest) => [`GET /projects/:id/repository/files/:file_path${rest}`, found]),
    ),
    "/projects/:id/repository/commits/:sha/cherry_pick": everywhere(
      branches.map((name, at) => ({ sha: topics[at % topics.length]?.commit, branch: name })),
    ),
    "/projects/:id/repository/commits/:sha/revert": everywhere(
      branches.map((name, at) => ({ sha: commits[1 + (at % 10)], branch: name })),
    ),
  };
}

/** Names of parameters for an existing or new commit, branch or tag. */
export const NAMES_OF_REFS: ReadonlySet<string> = new Set([
  ...["ref", "ref_name", "sha", "from", "to", "refs", "branch", "start_branch", "start_sha", "tag_name"],
]);
/** Names of parameters for files. */
export const NAMES_OF_FILES: ReadonlySet<string> = new Set(["file_path", "path", "page_token", "last_commit_id"]);
