import { X509Certificate } from "node:crypto";
import { hasRole, type ProjectSeen, visibleProject } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import { badFields } from "#lib/refusal.ts";
import type { Services } from "#services.ts";
import type { GivenCluster } from "./params.ts";

type Problems = Record<string, string[]>;

/** The columns that a request sets, and the token before it is sealed; what is undefined keeps its value. */
export type ClusterFields = ReturnType<typeof fieldsOf>;

/** What a request sets, as it is stored. Throws everything that is wrong with it at once. */
export async function checkedFields(
  { services, actor }: { readonly services: Services; readonly actor: Actor },
  project: ProjectSeen,
  given: GivenCluster,
): Promise<ClusterFields> {
  const fields = fieldsOf(given);
  const problems = {
    ...problemsOf(fields),
    ...(fields.api_url !== undefined && (await addressProblems(services, fields.api_url))),
    ...(fields.management_project_id &&
      (await managerProblems(services, actor, project, fields.management_project_id))),
  };
  if (Object.keys(problems).length > 0) throw badFields(problems);
  return fields;
}

function fieldsOf({ platform_kubernetes_attributes: platform = {}, ...given }: GivenCluster) {
  const namespace = blankToNull(platform.namespace);
  return {
    name: given.name?.trim(),
    domain: blankToNull(given.domain),
    management_project_id: given.management_project_id,
    enabled: given.enabled,
    managed: given.managed,
    namespace_per_environment: given.namespace_per_environment,
    environment_scope: given.environment_scope,
    api_url: platform.api_url?.trim(),
    authorization_type: platform.authorization_type,
    namespace: namespace && namespace.toLowerCase(),
    ca_cert: blankToNull(platform.ca_cert),
    token: blankToNull(platform.token) ?? undefined,
  };
}

const blankToNull = (text: string | null | undefined) => (text === undefined ? undefined : text?.trim() || null);

const RESERVED_NAMESPACES = ["gitlab-managed-apps"];
const LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
const HOST_NAME = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;

function problemsOf({ name, domain, namespace, ca_cert, token }: ClusterFields): Problems {
  const namespaceProblem = namespace ? problemOfNamespace(namespace) : undefined;
  return {
    ...(name === "" && { name: ["has to be present"] }),
    ...(domain &&
      !HOST_NAME.test(domain) && { domain: [String.raw`contains invalid characters (valid characters: [a-z0-9\-])`] }),
    ...(namespaceProblem && { "platform_kubernetes.namespace": [namespaceProblem] }),
    ...(ca_cert && !isCertificates(ca_cert) && { "platform_kubernetes.ca_cert": ["must be a valid PEM certificate"] }),
    // It is sent in a header.
    ...(token && !/^[\x21-\x7e]+$/.test(token) && { "platform_kubernetes.token": ["contains invalid characters"] }),
  };
}

function problemOfNamespace(namespace: string): string | undefined {
  if (RESERVED_NAMESPACES.includes(namespace)) return "is reserved";
  if (LABEL.test(namespace)) return undefined;
  return "can contain only lowercase letters, digits, and '-'. Must start with a letter or digit, and cannot end with '-'";
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;

/** Whether a text is one or more certificates in PEM, and nothing else: a private key must not be stored and shown. */
function isCertificates(text: string): boolean {
  const blocks = text.match(CERTIFICATE) ?? [];
  if (blocks.length === 0 || text.replaceAll(CERTIFICATE, "").trim() !== "") return false;
  return blocks.every((block) => {
    try {
      return new X509Certificate(block).subject !== undefined;
    } catch {
      return false;
    }
  });
}

async function addressProblems({ outbound }: Services, url: string): Promise<Problems> {
  const problem = await outbound.urlProblem(url);
  if (!problem) return {};
  const text = problem.reason === "destination" ? `is blocked: ${problem.message}` : problem.message;
  return { "platform_kubernetes.api_url": [text] };
}

/** A project that is hidden from the caller gives the same answer as one that does not exist. */
async function managerProblems({ db }: Services, actor: Actor, project: ProjectSeen, id: number): Promise<Problems> {
  const manager = await visibleProject(db, actor, id);
  if (manager?.namespace_id === project.namespace_id && hasRole(actor, manager, "maintainer")) return {};
  return {
    management_project_id: ["Project does not exist or you don't have permission to perform this action"],
  };
}
