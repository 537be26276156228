import { signedIn } from "#access/access.ts";
import { type ProjectSeen, visibleProject } from "#access/containers.ts";
import { resolveProject } from "#access/paths.ts";
import type { Actor } from "#access/principal.ts";
import type { Databases } from "#db/database.ts";
import { endpoint } from "#http/endpoint.ts";
import { missing } from "#lib/refusal.ts";
import type { ItemKind } from "#domains/conversation/items/item.ts";
import { RenderedMarkdown } from "./entity.ts";
import { MarkdownText } from "./params.ts";
import { referenceLinks } from "./references.ts";

/** The text, its tokens, the HTML and the JSON are in memory at once. */
const MEMORY_FACTOR = 8;

/** The endpoint that renders texts, with links to items of some kinds. */
export const markdownEndpoints = (kinds: readonly ItemKind[]) => ({
  render: endpoint({
    method: "POST",
    path: "/markdown",
    summary:
      "Render Markdown as HTML that is safe in a page; with `gfm`, references to what the caller may see are links",
    access: signedIn(),
    params: MarkdownText,
    returns: RenderedMarkdown,
    audit: null,
    transaction: "own",
    async handle({ databases, services, actor, params, site, consumer, reserveMemory }) {
      const { text, gfm = false } = params;
      const project = params.project === undefined ? undefined : await contextOf(databases, actor, params.project);
      reserveMemory(text.length * MEMORY_FACTOR);
      const textLinks = gfm ? await referenceLinks(databases, kinds, text, { actor, site, project }) : undefined;
      return { html: await services.markdown.render({ text, site, textLinks }, consumer) };
    },
  }),
});

async function contextOf(db: Databases, actor: Actor, path: string): Promise<ProjectSeen> {
  const { id } = await resolveProject(db, path);
  const project = await visibleProject(db, actor, id);
  if (!project) throw missing("Project");
  return project;
}
