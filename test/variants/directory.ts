/** Variants of the directory's ingestion. */
import type { Variant } from "./runner/variant.ts"

export const directory: ReadonlyArray<Variant> = [
  {
    name: "directory: a line that cannot be read removes its record",
    find: "unread: { keys: unreadKeys, unknown: malformed - unreadKeys.length }",
    replace: "unread: { keys: unreadKeys, unknown: 0 }",
    sentence: "a line that is no text takes a number out of the directory",
    finders: ["ingestGuards.e2e"]
  },
  {
    name: "directory: the record of a malformed line is removed",
    find: "removed: sql`((${absent} and not ${isUnread}) or ${isRetired})`",
    replace: "removed: sql`(${absent} or ${isRetired})`",
    sentence: "a good record goes because its line has a slip",
    finders: ["ingestGuards.e2e"]
  },
  {
    name: "directory: a line with two numbers is about the first",
    find: 'codes?.length === 1 ? codes[0].replace("-", "") : null',
    replace: 'codes?.[0]?.replace("-", "") ?? null',
    sentence: "two lines that ran together remove the second one's record",
    finders: ["nanpa.unit", "ingestion.it"]
  },
  {
    name: "directory: a line is about whatever stands for its carrier",
    find: "return isOcn(ocn) ? ocn : null",
    replace: "return ocn",
    sentence: "a carrier whose number has lost a digit in a line loses its name and type",
    finders: ["lists.unit", "ingestion.it"]
  },
  {
    name: "directory: area codes may lose all but one of their records",
    find: "one.removed > one.stored * removalShareLimit",
    replace: "one.removed >= one.stored",
    sentence: "a file that has lost most of an area code is taken",
    finders: ["ingestGuards.e2e"]
  },
  {
    name: "directory: the first publication is the one in force",
    find: "where kind = ${kind} and publication_date is not null order by id desc limit 1",
    replace: "where kind = ${kind} and publication_date is not null order by id limit 1",
    sentence: "an older file replaces a newer one",
    finders: ["ingestion.it"]
  },
  {
    name: "directory: what a file leaves out is retired",
    find: "retired: first.leftOut.filter((npa) => options.retire.includes(npa))",
    replace: "retired: first.leftOut",
    sentence: "a regional file removes all other area codes",
    finders: ["ingestGuards.e2e"]
  },
  {
    name: "directory: a value where there was none is no change",
    find: '(${sql.literal(of("c", values))}) is distinct from (${sql.literal(of("s", values))})',
    replace: '(${sql.literal(of("c", values))}) <> (${sql.literal(of("s", values))})',
    sentence: "a carrier that is named at last stays without a name",
    finders: ["ingestion.it"]
  },
  {
    name: "directory: removals alone tell no node",
    find: "if (added + changed + removed > 0)",
    replace: "if (added + changed > 0)",
    sentence: "a number that was given back is answered for until the next change",
    finders: ["Directory.it"]
  },
  {
    name: "directory: a file whose last line is cut is whole",
    find: 'if (!terminated && isLastMalformed) return refuse("Truncated", "its last line is cut")',
    replace: "",
    sentence: "half a download counts as the file",
    finders: ["nanpa.unit", "damage.unit", "lists.unit", "cnac.unit"]
  },
  {
    name: "directory: the other country's records count",
    find: "const ours = dataset.country === null ? sql`true` : sql`c.country = ${dataset.country}`",
    replace: "const ours = sql`true`",
    sentence:
      "whoever loads one country's file is told that the other one's area codes are missing, and may retire them",
    finders: ["ingestGuards.e2e"]
  },
  {
    name: "directory: two ingestions store at once",
    find: "if (tried?.taken === true) return",
    replace: "if (tried !== undefined) return",
    sentence: "two files of one kind end as a mixture of both",
    finders: ["ingestionRuns.it"]
  },
  {
    name: "directory: a node loads while others store",
    find: '"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"',
    replace: '"BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY"',
    sentence: "a node answers from half of one ingestion and half of the next",
    finders: ["ingestion.it"]
  },
  {
    name: "directory: one malformed line in a hundred is too much",
    find: "malformed > lines * malformedShareLimit",
    replace: "malformed >= lines * malformedShareLimit",
    sentence: "a publication with the slips that are allowed is refused",
    finders: ["nanpa.unit"]
  },
  {
    name: "directory: a content that does not match its checksum is taken",
    find: "done(actual === expected ? null :",
    replace: "done(actual >= 0 ? null :",
    sentence: "an archive that was damaged on its way replaces what is stored",
    finders: ["source.unit"]
  }
]
