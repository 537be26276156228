import Type from "typebox";

/** A text as HTML that is safe in a page. */
export const RenderedMarkdown = Type.Object(
  { html: Type.String() },
  { additionalProperties: false, title: "RenderedMarkdown" },
);
