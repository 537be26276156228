/** Every way to ask for deploy keys, near and deep, and what git and code ask of PostgreSQL. */
import type { Request } from "./requests.ts";

/** What of the seed the requests name. */
export interface Named {
  /** A project of the largest group, by id and by path. */
  readonly project: { readonly id: number; readonly path: string };
  /** The project with the most deploy keys, and one of them. */
  readonly opened: { readonly project: number; readonly key: number };
  /** Somebody who maintains much of the largest group. */
  readonly maintainer: number;
}

const PLACES = ["", "page=40&per_page=100"];

export function gitRequests({ project, opened, maintainer }: Named): Request[] {
  const inCommon = ["", "pagination=keyset", "page=40"].map(
    (place) => `/users/${maintainer}/project_deploy_keys?per_page=100&${place}`,
  );
  const ofMany = ["member of 5,000", "member of the largest"] as const;
  const code = ["branches", "tags", "commits", "contributors"].map(
    (list) => `/projects/${project.id}/repository/${list}`,
  );
  const services = ["git-upload-pack", "git-receive-pack"];
  return [
    ...["", "public=true"].flatMap((filter) => PLACES.map((place) => `/deploy_keys?${filter}&${place}`)).map(asked),
    ...PLACES.map((place) => `/projects/${opened.project}/deploy_keys?${place}`).map(asked),
    asked(`/projects/${opened.project}/deploy_keys/${opened.key}`),
    ...inCommon.map(asked),
    // They maintain nothing.
    ...ofMany.flatMap((caller) => inCommon.map((path) => ({ caller, path, refused: true }) as const)),
    ...code.map(asked),
    // An address of the whole, as these are not under the API's.
    ...services.map((service) => asked(`http://localhost/${project.path}.git/info/refs?service=${service}`)),
  ];
}

const asked = (path: string): Request => ({ caller: "administrator", path });
