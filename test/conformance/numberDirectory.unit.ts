/** "Number Directory Service", one of the two documents that the platform was built from: what it asks for, in our words, with the tests that hold it. What it leaves open is in `decisionsDirectory.unit.ts`. */
import { describeDocument } from "./promises.ts"

const lists = "http/sections/directory.ts"
const rules = "http/sections/directoryRules.ts"
const keys = "http/sections/keys.ts"
const health = "cli/health.e2e.ts"
const index = "directory/rules.unit.ts"

describeDocument("Number Directory Service", {
  "What it serves": [
    [
      "Carriers, area codes and exchanges of the United States and Canada",
      ["directory/files/snapshot.unit.ts", "has 192,982 US codes"],
      ["directory/files/snapshot.unit.ts", "has 44,000 Canadian codes"]
    ],
    ["Health and statistics are open to all", [lists, "GET /v1/health and /health, /v1/stats and /stats"]]
  ],
  Carriers: [
    ["A carrier in a list has six fields", [lists, "lists carriers with exactly the documented fields"]],
    ["A single carrier also has its exchanges, in all and by state", [lists, "counts a carrier of many states"]],
    [
      "A carrier's type is one of six",
      [lists, "passes $total carriers with '$query'"],
      [rules, "common_name and carrier_type come from the list"]
    ],
    [
      "Lists are narrowed by country, state and type",
      [rules, "in any case"],
      [index, "filters ignore case and combine"]
    ],
    ["A page has 50 carriers and begins with the first", [lists, "gives 50 from the beginning where nothing is said"]],
    ["A page says its limit, its offset and how many match", [index, "a page holds `limit` carriers from `offset` on"]],
    ["A carrier is named in the path or in the query", [lists, "$ocn in the path and in the query"]]
  ],
  "Area codes": [
    ["An area code has its place, its exchanges and a page of them", [lists, "$npa in the path and in the query"]],
    ["An exchange has its code, carrier, rate center and status", [rules, "a Canadian code '%s' (%s-%s) is %s"]],
    [
      "A status is assigned, unassigned or reserved",
      [rules, "a Canadian code '%s' (%s-%s) is %s"],
      ["directory/files/cnac.unit.ts", "maps every known status"]
    ],
    [
      "It counts all exchanges, and those that match",
      [index, "`total_exchanges` has every record"],
      [index, "`pagination.total` has what was asked for; with `nxx` that is one"]
    ],
    [
      "Four ways lead to it, two of them to one exchange",
      [lists, "$npa in the path and in the query"],
      [rules, "with nxx one record of all"]
    ],
    [
      "A page has 50 exchanges, and at most 100",
      [lists, "gives 50 exchanges from the beginning where nothing is said, and at most 100"]
    ]
  ],
  "Health and statistics": [
    [
      "Health has four fields, under both paths and without a key",
      [lists, "%s needs no key and has exactly the documented fields"]
    ],
    ["It is healthy", [health, "is ready and healthy with fresh data of both countries"]],
    ["It is degraded", [health, "is degraded while the data of either country is older than 90 days"]],
    ["It is unhealthy", ["http/sections/outages.ts", "health says so, reads go on from memory"]],
    [
      "Statistics count records by country and status, times and places, under both paths and without a key",
      [lists, "%s needs no key and counts what the files hold"]
    ],
    ["The version is the program's", [rules, "version is the package version"]]
  ],
  Access: [
    ["A key comes as bearer, in its own header or as a parameter", [keys, "%s takes each of them"]],
    ["Without one there is no answer", [keys, "%s without a key is 401"]],
    ["Paths begin with /v1", ["http/sections/errors.ts", "%s is 404 in its product's shape, for any method"]]
  ],
  Errors: [
    ["An error has a code and a sentence", [lists, "says which parameter is missing and how it is given"]],
    [
      "A carrier's code that is missing is named, and how it is given",
      [lists, "says which parameter is missing and how it is given"]
    ],
    [
      "One of another form than four letters or digits is quoted",
      [lists, "refuses an empty OCN"],
      ["http/sections/malformed.ts", "in every segment of a path"]
    ],
    ["An area code that is missing is named", [lists, "/v1/npa"]],
    [
      "One that is not three digits is quoted",
      [rules, "5"],
      ["http/sections/malformed.ts", "in every segment of a path"]
    ],
    [
      "A carrier that nobody knows is 404 and named",
      [lists, "answers 404 with the OCN for a carrier that nobody knows"]
    ]
  ]
})
