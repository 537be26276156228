-- Sends alerts to the addresses in the file named as first argument, a path and a key a line. The second argument says
-- which: "spread" repeats 25 alerts of each address, "same" repeats one, "new" sends a new one each time to the first.
-- With a third, each connection sends one and then waits so many milliseconds. Ends with its counts as JSON.
local addresses = {}
local kind
local pause
local sent = 0

function init(args)
  for line in io.lines(args[1]) do
    local path, key = line:match("(%S+) (%S+)")
    addresses[#addresses + 1] = { path = path, key = key }
  end
  kind = args[2]
  pause = tonumber(args[3] or "0")
  math.randomseed(os.time())
end

function delay()
  return pause > 0 and math.floor(pause * (0.5 + math.random())) or 0
end

local function nextAlert()
  if kind == "spread" then return addresses[math.random(#addresses)], math.random(25) end
  if kind == "same" then return addresses[1], 1 end
  return addresses[1], string.format("new-%d-%d", os.time(), sent)
end

function request()
  sent = sent + 1
  local to, name = nextAlert()
  local headers = {
    ["Authorization"] = "Bearer " .. to.key,
    ["Content-Type"] = "application/json",
    ["Host"] = wrk.headers["Host"],
  }
  local body = string.format(
    '{"title":"Disk %s is full","fingerprint":"disk %s","severity":"high","service":"mail","hosts":["db-1"],'
      .. '"description":"Nothing can be written any more","monitoring_tool":"bench"}', name, name)
  return wrk.format("POST", to.path, headers, body)
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"microseconds":%d,"refused":%d,"broken":%d,"p50":%d,"p99":%d}\n',
    summary.requests, summary.duration, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50), latency:percentile(99)))
end
