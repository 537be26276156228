import type { Contract } from "#test/contract.ts";
import { line, WRITE } from "#test/matrix/line.ts";

export const contract: Contract = {
  lines: {
    "POST /markdown": line(401, 201, 201, WRITE, { send: "text=*&gfm=true", unaudited: true }),
  },
  unrepeatable: { "POST /markdown": "it writes nothing" },
};
