/** Every way to list deploy keys, and requests that read code, for their statements. */
import { any, BY_OFFSET, FIRST, list, PLACES, type Request } from "./request.ts";
import type { Sample } from "./sample.ts";

export function codeRequests({ project, deployKey, maintainer }: Sample): Request[] {
  const inCommon = `/users/${maintainer}/project_deploy_keys`;
  const ofProject = `/projects/${deployKey.project}/deploy_keys`;
  // The seed creates no repositories, so these lists are empty.
  const code = ["branches", "tags", "commits", "contributors"].flatMap((kind) =>
    list(`/projects/${project.id}/repository/${kind}`, { filters: [any("")], places: FIRST }),
  );
  return [
    ...list("/deploy_keys", { filters: ["", "public=true"], places: BY_OFFSET }),
    ...list(ofProject, { places: BY_OFFSET }),
    ...list(`${ofProject}/${deployKey.id}`, { places: FIRST }),
    ...list(inCommon, { places: PLACES }),
    // They maintain nothing.
    ...list(inCommon, { callers: ["member of 5,000", "member of the largest"], status: 403 }),
    ...code,
    // An absolute URL, since these paths are not below the API's.
    ...["git-upload-pack", "git-receive-pack"].flatMap((service) =>
      list(`http://localhost/${project.path}.git/info/refs?service=${service}`, { places: FIRST }),
    ),
  ];
}
