import Type from "typebox";
import { signedIn } from "#access/access.ts";
import { endpoint } from "#http/endpoint.ts";
import { API_LEVEL, RELEASE } from "#lib/release.ts";

const version = { version: Type.String(), revision: Type.String(), fairlead_version: Type.String() };
const answer = { version: API_LEVEL, revision: RELEASE, fairlead_version: RELEASE };
const scopes = ["read_user"] as const;

export const versions = {
  version: endpoint({
    method: "GET",
    path: "/version",
    summary: "Get the version",
    access: signedIn({ scopes }),
    params: Type.Object({}),
    returns: Type.Object(version, { additionalProperties: false }),
    handle: () => answer,
  }),

  metadata: endpoint({
    method: "GET",
    path: "/metadata",
    summary: "Get the version and the installed components",
    access: signedIn({ scopes }),
    params: Type.Object({}),
    returns: Type.Object(
      {
        ...version,
        kas: Type.Object(
          {
            enabled: Type.Boolean(),
            externalUrl: Type.Null(),
            externalK8sProxyUrl: Type.Null(),
            version: Type.Null(),
          },
          { additionalProperties: false },
        ),
        enterprise: Type.Boolean(),
      },
      { additionalProperties: false },
    ),
    handle: ({ services }) => ({
      ...answer,
      kas: { enabled: false, externalUrl: null, externalK8sProxyUrl: null, version: null },
      enterprise: services.config.plan !== "free",
    }),
  }),
};
