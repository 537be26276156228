/** The order of `src`, as `tools/layers.ts` has it. */
interface Order {
  readonly layers: Readonly<Record<string, readonly string[]>>;
  readonly domains: readonly string[];
  readonly packages: Readonly<Record<string, { readonly pattern: string; readonly places: readonly string[] }>>;
}

const RULES = {
  "eslint/eqeqeq": "error",
  "eslint/no-shadow": "off",
  "eslint/no-unused-vars": [
    "error",
    { argsIgnorePattern: "^_", destructuredArrayIgnorePattern: "^_", varsIgnorePattern: "^_" },
  ],
  "eslint/no-restricted-globals": [
    "error",
    ...["fetch", "WebSocket", "EventSource"].map((name) => ({ name, message: "Requests are sent by src/outbound." })),
  ],
  "eslint/no-restricted-properties": [
    "error",
    { object: "process", property: "env", message: "Settings are read in src/config.ts." },
    { object: "process", property: "getBuiltinModule", message: "Import it, so that the fences see it." },
    { object: "globalThis", property: "process", message: "Say process, so that the fences see it." },
  ],
  "import/no-cycle": "error",
  "import/no-default-export": "error",
  "import/no-named-as-default": "off",
  "import/no-named-as-default-member": "off",
  "import/no-relative-parent-imports": "error",
  "oxc/no-barrel-file": ["error", { threshold: 0 }],
  "promise/always-return": "off",
  "typescript/consistent-return": "off",
  "typescript/consistent-type-imports": ["error", { disallowTypeAnnotations: true }],
  "typescript/no-floating-promises": [
    "error",
    {
      allowForKnownSafeCalls: [{ from: "package", name: ["test", "it", "describe", "suite"], package: "node:test" }],
    },
  ],
  "typescript/no-misused-promises": ["error", { checksVoidReturn: false }],
  "typescript/no-base-to-string": "off",
  "typescript/no-misused-spread": "off",
  "typescript/no-unnecessary-type-parameters": "off",
  "typescript/no-unsafe-type-assertion": "off",
  "typescript/require-array-sort-compare": ["error", { ignoreStringArrays: true }],
  "typescript/switch-exhaustiveness-check": "error",
  "typescript/unbound-method": "off",
  "unicorn/consistent-function-scoping": "off",
  "unicorn/no-confusing-array-with": "off",
  "unicorn/no-useless-spread": "off",
  "unicorn/prefer-node-protocol": "error",
};

interface Pattern {
  readonly regex?: string;
  readonly group?: readonly string[];
  readonly message: string;
}

/** Limits of size, and the files that some rules leave out. */
const OVERRIDES = [
  { files: ["src/db/types.ts"], rules: { "eslint/max-lines": "off" } },
  {
    files: ["src/config.ts", "test/**", "bench/**", "tools/**"],
    rules: { "eslint/no-restricted-properties": "off" },
  },
  { files: ["test/**", "bench/**", "tools/**"], rules: { "eslint/no-restricted-globals": "off" } },
  {
    files: ["src/**/*.test.ts", "src/**/test-support.ts"],
    rules: {
      "eslint/max-lines": "off",
      "eslint/max-lines-per-function": "off",
      "eslint/no-restricted-globals": "off",
      "eslint/no-restricted-imports": "off",
      "eslint/no-restricted-properties": "off",
    },
  },
  {
    files: ["src/**/*.test.ts", "test/**/*.test.ts"],
    rules: {
      "eslint/no-restricted-properties": [
        "error",
        { object: "performance", property: "now", message: "Only *.timed.test.ts judge time: wait with until." },
        { object: "process", property: "cpuUsage", message: "Only *.timed.test.ts judge CPU: count something." },
        { object: "process", property: "memoryUsage", message: "Only *.timed.test.ts judge memory: count bytes." },
      ],
    },
  },
  { files: ["**/*.timed.test.ts"], rules: { "eslint/no-restricted-properties": "off" } },
  {
    files: ["src/**/*.contract.ts"],
    rules: {
      "eslint/no-restricted-imports": [
        "error",
        {
          patterns: [
            {
              group: ["./**", "\\#*.ts", "\\#*/**", "!\\#test/**"],
              message: "A contract judges the code, so it imports only tests.",
            },
          ],
        },
      ],
    },
  },
];

/** `.oxlintrc.json`: the rules above, and for each layer and domain the imports that it may not make. */
export function lintConfig(order: Order): string {
  const config = {
    $schema: "./node_modules/oxlint/configuration_schema.json",
    plugins: ["eslint", "typescript", "unicorn", "oxc", "import", "node", "promise"],
    categories: { correctness: "error", suspicious: "error" },
    options: { typeAware: true, reportUnusedDisableDirectives: "error" },
    ignorePatterns: ["node_modules", "docs"],
    rules: RULES,
    overrides: [
      {
        files: ["src/**"],
        rules: {
          "eslint/max-lines": ["error", { max: 300 }],
          "eslint/max-lines-per-function": ["error", { max: 60, skipBlankLines: false, skipComments: false }],
        },
      },
      ...fencesOf(order),
      ...OVERRIDES,
    ],
  };
  return JSON.stringify(config);
}

function fencesOf({ layers, domains, packages }: Order) {
  const fence = (place: string, imports: readonly string[]) => ({
    files: [place.endsWith(".ts") ? `src/${place}` : `src/${place}/**`],
    rules: {
      "eslint/no-restricted-imports": [
        "error",
        {
          patterns: [
            packagePattern(packages, place),
            ...partPatterns(layers, place, imports),
            ...resourcePattern(place),
            // Last, because oxlint does not try the patterns after it on imports that it allows.
            importPattern(place, imports),
          ],
        },
      ],
    },
  });
  const kernel = layers["domains"] ?? [];
  // For each file the last match counts: a layer, then a domain or single file in it.
  return [
    ...Object.entries(layers).map(([layer, imports]) => fence(layer, [layer, ...imports])),
    ...domains.map((domain, at) =>
      fence(`domains/${domain}`, [...kernel, ...domains.slice(at).map((below) => `domains/${below}`)]),
    ),
    ...singleFiles(packages).map(({ file, layer }) => fence(file, [layer, ...(layers[layer] ?? [])])),
  ];
}

/** Files that may use a package which the rest of their layer may not. */
const singleFiles = (packages: Order["packages"]) =>
  Object.values(packages).flatMap(({ places }) =>
    places.flatMap((file) => {
      const [layer = "", inside] = file.split("/");
      return inside === undefined ? [] : [{ file, layer }];
    }),
  );

function packagePattern(packages: Order["packages"], place: string): Pattern {
  const refused = Object.values(packages).filter(
    ({ places }) => !places.some((allowed) => place === allowed || place.startsWith(`${allowed}/`)),
  );
  const owners = Object.entries(packages).map(([name, { places }]) => `${name} belongs to ${places.join(" and ")}`);
  return {
    regex: [...refused.map(({ pattern }) => pattern), "^(node:)?(process|module)$"].join("|"),
    message: `${owners.join(", ")}; process is a global, and no module is loaded past the fences.`,
  };
}

function importPattern(place: string, imports: readonly string[]): Pattern {
  return {
    group: [
      ...["\\#*.ts", "\\#*/**"],
      ...imports.filter((name) => !name.includes("{")).map((name) => `!\\#${name}${name.endsWith(".ts") ? "" : "/**"}`),
    ],
    message: `src/${place} may import ${imports.join(", ")}: see tools/layers.ts.`,
  };
}

/** Files above the rest of their layer, `layer/{a,b}.ts`: permission to import the layer does not include them. */
const partPatterns = (layers: Order["layers"], place: string, imports: readonly string[]): Pattern[] =>
  Object.keys(layers).flatMap((part) => {
    const [, layer, names] = /^(.*)\/\{(.*)\}\.ts$/.exec(part) ?? [];
    if (layer === undefined || names === undefined) return [];
    if (part === place || imports.includes(part) || !imports.includes(layer)) return [];
    const folder = place === layer ? "\\./" : `#${layer}/`;
    return [
      {
        regex: `^${folder}(${names.replaceAll(",", "|")})\\.ts$`,
        message: `src/${part} is above src/${place}: see tools/layers.ts.`,
      },
    ];
  });

/** Only commands import the routes and jobs of resources and the lists of all of them. */
function resourcePattern(place: string): Pattern[] {
  if (place !== "ssh" && !place.startsWith("domains/")) return [];
  return [
    {
      regex: "^#domains/([^/]+|[^/]+/(index|jobs|constraints|deletions)|[^/]+/[^/]+/(routes|jobs))\\.ts$",
      message: "Use a resource's entity, params, queries, actions or access, never its routes or jobs.",
    },
  ];
}
