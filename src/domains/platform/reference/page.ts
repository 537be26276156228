/** The reference page: Swagger UI with our document, loading nothing from other origins. */
export const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Fairlead API</title>
    <link rel="icon" type="image/png" href="/-/api/favicon-32x32.png">
    <link rel="stylesheet" href="/-/api/swagger-ui.css">
    <script src="/-/api/swagger-ui-bundle.js" defer></script>
    <script src="/-/api/start.js" defer></script>
  </head>
  <body>
    <noscript>This page needs JavaScript; the document itself is at <a href="/-/api/openapi.json">/-/api/openapi.json</a>.</noscript>
    <div id="reference"></div>
  </body>
</html>
`;

/** A separate file, because the content security policy forbids inline scripts. */
export const START = `SwaggerUIBundle({
  url: "/-/api/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  docExpansion: "none",
  displayRequestDuration: true,
  filter: true,
  requestSnippetsEnabled: true,
  showCommonExtensions: true,
  showExtensions: true,
  validatorUrl: null,
});
`;

/** The style sheet embeds images as data: URLs; images in responses are shown as blob: URLs. */
export const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");
