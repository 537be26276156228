import {
  type Check,
  clientAddress,
  encodedPath,
  links,
  longLinks,
  longTarget,
  slowUpload,
  stream,
  tooLarge,
} from "./checks.ts";
import type { ProxyName } from "./proxy.ts";

/** A line of the guide that is left out or changed, and the check that must notice. */
export interface Plant {
  readonly proxy: ProxyName;
  readonly line: string;
  readonly instead: string;
  readonly check: Check;
}

export const plants: readonly Plant[] = [
  { proxy: "nginx", line: "proxy_pass http://fairlead;", instead: "proxy_pass http://fairlead/;", check: encodedPath },
  { proxy: "nginx", line: "proxy_set_header X-Forwarded-For $remote_addr;", instead: "", check: clientAddress },
  { proxy: "nginx", line: "proxy_set_header X-Forwarded-Proto $scheme;", instead: "", check: links },
  { proxy: "nginx", line: "proxy_set_header X-Forwarded-Host $http_host;", instead: "", check: links },
  { proxy: "nginx", line: "proxy_buffer_size 64k;", instead: "", check: longLinks },
  { proxy: "nginx", line: "proxy_buffering off;", instead: "", check: stream },
  { proxy: "nginx", line: "proxy_request_buffering off;", instead: "", check: slowUpload },
  { proxy: "nginx", line: "client_max_body_size 0;", instead: "", check: tooLarge },
  { proxy: "nginx", line: "large_client_header_buffers 4 16k;", instead: "", check: longTarget },
  { proxy: "Caddy", line: "transport http {", instead: "flush_interval -1\ntransport http {", check: stream },
  { proxy: "Caddy", line: "transport http {", instead: "buffer_requests\ntransport http {", check: slowUpload },
];
