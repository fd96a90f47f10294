/** "Decisions where the two specifications say 'not shown'": the number directory, in our words, with the tests that hold them. */
import { describeDocument } from "./promises.ts"

const rules = "http/sections/directoryRules.ts"
const index = "directory/rules.unit.ts"
const ingestion = "http/sections/ingestion.ts"
const guards = "cli/ingestGuards.e2e.ts"
const health = "cli/health.e2e.ts"

describeDocument("Decisions, number directory", {
  Files: [
    [
      "Columns are found by their names",
      ["directory/files/nanpa.unit.ts", "are read by column name, in any order, without padding, and without a date"]
    ],
    [
      "Statuses of both countries become three",
      [rules, "a Canadian code '%s' (%s-%s) is %s"],
      ["directory/files/cnac.unit.ts", "maps every known status"]
    ],
    [
      "An unknown status is a malformed line",
      [ingestion, "malformed lines, an unknown status among them, are reported with their number"]
    ],
    ["Codes that no file lists are no records", [rules, "a US code that the file does not list is no record"]]
  ],
  Carriers: [
    [
      "Several carriers at one exchange are no carrier",
      [rules, "MULT is an exchange's OCN"],
      [index, "`MULT` is no carrier, not even when the type list names it"]
    ],
    [
      "What stands for nothing is null",
      [rules, "an empty OCN, an empty company and the rate center XXXXXXXXXX are null"]
    ],
    [
      "One signs of a place stands for another; territories are of the United States",
      [rules, "the Northern Marianas are MP, and NN is nowhere"],
      [index, "US territories have country `US`"]
    ],
    [
      "Types and common names are the list's, and never guessed",
      [rules, "common_name and carrier_type come from the list"],
      [rules, "they are null where the list has none"]
    ],
    [
      "Carriers of the list alone have its name and no state",
      [rules, "known from the list only: its name, no state, country US"]
    ],
    [
      "A state is where most exchanges are, ties by the alphabet",
      [rules, "most exchanges decide: 902 and 782 are shared"],
      [rules, "of states with as many it is the first in the alphabet"]
    ],
    [
      "Without any state the report of area codes decides",
      [rules, "an area code whose records name no state has that of its report"]
    ],
    [
      "Only assigned exchanges are counted for a carrier",
      [rules, "only ASSIGNED exchanges are counted"],
      [rules, "an exchange without a state counts in the total alone"]
    ]
  ],
  "Area codes": [
    [
      "All records count, and those that match",
      [index, "`total_exchanges` has every record, whatever its status"],
      [rules, "with nxx one record of all"]
    ],
    ["Unknown codes are 404 and named", [index, "an NPA or NXX that is unknown is not found, by its name"]],
    [
      "A code of another form is quoted, one without its area code is refused",
      [rules, "nxx without npa: the error of the missing npa"]
    ],
    ["The path goes before the query", [rules, "what the path says counts, not the query"]]
  ],
  Filters: [
    ["They ignore case and combine", [index, "filters ignore case and combine"]],
    [
      "An unknown type or country is refused, an unknown state has nothing",
      [rules, "%s is refused"],
      [rules, "any two letters are a state"]
    ],
    [
      "Carriers come by code, exchanges by code",
      [index, "carriers come in the order of their OCN"],
      [index, "exchanges come in the order of their NXX"]
    ]
  ],
  Health: [
    [
      "Times are of ingestion, and none before the first",
      [rules, "last_ingestion is the latest time"],
      ["directory/Directory.it.ts", "is ready with an empty database, and answers from no records"]
    ],
    [
      "A file's own date is shown to operators",
      [ingestion, "a file's own publication date is in the list of ingestions"]
    ],
    ["Places are counted once each, territories included", [rules, "56 states and territories and 13 provinces"]],
    [
      "It is degraded by old data, a partition or a disk",
      [health, "is degraded while the data of either country is older than 90 days"],
      [health, "is degraded while partitions have stopped"],
      [health, "is degraded while the disk of the data folder has under 5 % free"]
    ],
    [
      "Without the database reads go on, and it is said to be unhealthy",
      ["http/sections/outages.ts", "health says so, reads go on from memory"]
    ]
  ],
  Ingestion: [
    [
      "An older publication needs a word",
      [guards, "refuses an older publication, says both dates, and takes it when told to"]
    ],
    [
      "Area codes that are left out stay, unless they are retired",
      [guards, "keeps an area code that the file leaves out, names it, and retires it when told to"]
    ],
    [
      "Removing much needs its number",
      [guards, "refuses to remove more than 5 % of an area code"],
      [guards, "refuses a carrier list that lacks more than 5 % of the carriers"]
    ],
    ["A malformed line removes nothing", [guards, "never removes the good record of a malformed line"]],
    ["The command returns when the platform serves what it took", [guards, "serves what it has taken when it returns"]],
    [
      "It may be repeated, and readers see one set or the other",
      [ingestion, "a repeated file changes nothing"],
      ["directory/ingestionRuns.it.ts", "readers see the old set or the new one, never a mixture"]
    ],
    [
      "More than one malformed line in a hundred is refused, and so is what is no such file",
      [ingestion, "more than 1 % malformed, cut off, or no such file: refused"]
    ]
  ]
})
