import Type from "typebox";
import { anyone } from "#access/access.ts";
import { auditedForOthers, endpoint, plain } from "#http/endpoint.ts";
import { holderOfLink } from "#domains/identity/accounts/access.ts";
import { pageRefusal, renderForm, renderHidden, renderPage, setPageHeaders } from "#domains/identity/accounts/page.ts";
import type { ItemKind } from "#domains/conversation/items/item.ts";
import { readToken, UNSUBSCRIBE, unsubscribe } from "./unsubscribe.ts";

const HTML = plain("text/html; charset=utf-8");
const Token = Type.Object({
  token: Type.Optional(Type.String({ maxLength: 255, description: "What the link in the mail says" })),
});

const unknownLink = () =>
  pageRefusal("missing", {
    title: "This link does not work",
    text: "It is incomplete, or was made before the key of this installation was replaced.",
  });

/** The endpoints that end the mail about an item of some kinds. */
export const notificationEndpoints = (kinds: readonly ItemKind[]) => ({
  unsubscribePage: endpoint({
    method: "GET",
    mount: "root",
    path: UNSUBSCRIBE,
    summary: "Open the link in a mail that ends the mail about an issue or epic",
    access: anyone(),
    params: Token,
    returns: HTML,
    async handle({ params: { token = "" }, services, setHeader }) {
      setPageHeaders(setHeader);
      const link = await readToken(kinds, services.sealing, token);
      if (!link) throw unknownLink();
      const { word } = link.item.kind;
      return renderPage({
        title: `No more mail about this ${word}`,
        text: `You can subscribe to the ${word} again at any time.`,
        form: renderForm(UNSUBSCRIBE, "Unsubscribe", renderHidden("token", token)),
      });
    },
  }),

  unsubscribe: endpoint({
    method: "POST",
    mount: "root",
    path: UNSUBSCRIBE,
    summary: "End the mail about an issue or epic by the link in one, from a page or a mail program (RFC 8058)",
    access: holderOfLink(),
    params: Token,
    returns: HTML,
    status: 200,
    audit: auditedForOthers("unsubscribed"),
    async handle({ tx, params: { token = "" }, services, setHeader }) {
      setPageHeaders(setHeader);
      const link = await readToken(kinds, services.sealing, token);
      if (!link) throw unknownLink();
      await unsubscribe(tx, link);
      return renderPage({ title: "You get no more mail about it", text: "You can close this page." });
    },
  }),
});
