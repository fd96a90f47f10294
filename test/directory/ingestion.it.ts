/** Ingestion on a real database (docs/directory.md, 6): what files change, what is refused, and the history. */
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Result, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { findCode, findNumber } from "../../src/directory/codes.ts"
import { Ingestions } from "../../src/directory/Ingestions.ts"
import type { ShownChange } from "../../src/directory/ingestionSchema.ts"
import { loadIndex } from "../../src/directory/load.ts"
import { areaCodeByNpa } from "../../src/directory/rules.ts"
import { changedManhattan, manhattan, toronto } from "./ingestionLines.ts"
import {
  bundledText,
  canadianLines,
  differenceOf,
  directoryDatabase,
  failuresOf,
  ingest,
  ingestionCount,
  storedDigest,
  summariesOf,
  temporaryFolder,
  until,
  writeLines,
  writeUtf8
} from "./support.ts"

const none = { added: 0, changed: 0, removed: 0 }
const listLines = bundledText("CARRIER_TYPES").split("\n").slice(0, -1)
const reportLines = bundledText("NPA_REPORT").split("\r\n").slice(0, -1)

layer(directoryDatabase, { excludeTestServices: true })("ingestion", (it) => {
  it.effect("takes a file of one area code and counts what it adds", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const events = yield* ingest([writeLines(folder, manhattan), writeLines(folder, toronto)])
      assert.deepStrictEqual(
        summariesOf(events).map(({ kind, publicationDate, read, added, changed, removed, malformed }) => ({
          kind,
          publicationDate,
          read,
          difference: { added, changed, removed },
          malformed
        })),
        [
          {
            kind: "NANPA",
            publicationDate: "2026-07-06",
            read: 800,
            difference: { added: 800, changed: 0, removed: 0 },
            malformed: { total: 0, listed: [] }
          },
          {
            kind: "CNAC",
            publicationDate: "2025-09-12",
            read: 800,
            difference: { added: 800, changed: 0, removed: 0 },
            malformed: { total: 0, listed: [] }
          }
        ]
      )
    })
  )

  it.effect("is idempotent: repeating changes no record, and is remembered as an ingestion", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const before = yield* storedDigest
      const count = yield* ingestionCount
      assert.deepStrictEqual(differenceOf(yield* ingest([writeLines(folder, manhattan)])), none)
      assert.strictEqual(yield* storedDigest, before)
      assert.strictEqual(yield* ingestionCount, count + 1)
    })
  )

  it.effect("--dry-run computes the difference and stores nothing", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const before = yield* storedDigest
      const count = yield* ingestionCount
      const events = yield* ingest([writeLines(folder, changedManhattan)], { dryRun: true })
      assert.deepStrictEqual(differenceOf(events), { added: 0, changed: 2, removed: 1 })
      assert.deepStrictEqual(
        summariesOf(events).map((summary) => summary.dryRun),
        [true]
      )
      assert.strictEqual(yield* storedDigest, before)
      assert.strictEqual(yield* ingestionCount, count)
    })
  )

  it.effect("a changed file changes exactly what differs, and a file of one area code no other one", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const folder = yield* temporaryFolder
      const untouched = sql`
        select c.xmin::text as version, c.* from directory_codes c
        where npa <> '212' or nxx not in ('200', '201', '226') order by npa, nxx`
      const before = yield* untouched
      assert.deepStrictEqual(differenceOf(yield* ingest([writeLines(folder, changedManhattan)])), {
        added: 0,
        changed: 2,
        removed: 1
      })
      // Not even rewritten: xmin is the transaction that wrote a row last.
      assert.deepStrictEqual(yield* untouched, before)
      const rows = yield* sql`
        select nxx, company, status from directory_codes
        where npa = '212' and nxx in ('200', '201', '226') order by nxx`
      assert.deepStrictEqual(rows, [
        { nxx: "201", company: "PAETEC NEW YORK", status: "ASSIGNED" },
        { nxx: "226", company: "VERIZON NEW YORK, INC.", status: "RESERVED" }
      ])
      assert.deepStrictEqual(differenceOf(yield* ingest([writeLines(folder, manhattan)])), {
        added: 1,
        changed: 2,
        removed: 0
      })
    })
  )

  it.effect("names malformed lines by their place and reads the others", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const lines = manhattan.map((line, position) => (position === 5 ? line.replace("\tAS \t", "\tXX \t") : line))
      const events = yield* ingest([writeLines(folder, lines)], { dryRun: true })
      const [summary] = summariesOf(events)
      assert.strictEqual(summary!.read, 799)
      assert.strictEqual(summary!.malformed.total, 1)
      assert.strictEqual(summary!.malformed.listed[0]!.line, 6)
      assert.include(summary!.malformed.listed[0]!.reason, "XX")
    })
  )

  it.effect("keeps names as they are written, whatever characters they have", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const folder = yield* temporaryFolder
      const names = [
        'Quoted "Company", Inc.',
        "{braces}, \\back\\slashes",
        "NULL",
        "It's; drop table",
        "Téléphone Ïle",
        "%_$1"
      ]
      const lines = names.map(
        (name, n) =>
          `819,${300 + n},"In Service","N","${name.replaceAll('"', '""')}","QC","${name.replaceAll('"', '""')}","8051",`
      )
      const [header, date, ...others] = canadianLines("819")
      const path = writeUtf8(folder, [
        header!,
        date!,
        ...lines,
        ...others.filter((line) => !/^819,30[0-5],/.test(line))
      ])
      assert.deepStrictEqual(failuresOf(yield* ingest([path])), [])
      const rows = yield* sql<{ readonly company: string; readonly rate_center: string }>`
        select company, rate_center from directory_codes where npa = '819' and nxx between '300' and '305' order by nxx`
      assert.deepStrictEqual(
        rows.map((row) => row.company),
        names
      )
      assert.deepStrictEqual(
        rows.map((row) => row.rate_center),
        names
      )
      const { index } = yield* loadIndex
      const area = Result.getOrThrow(areaCodeByNpa(index, "819", { limit: 6, offset: 100 }))
      assert.deepStrictEqual(
        area.exchanges.map((exchange) => exchange.company_name),
        names
      )
      yield* sql`delete from directory_codes where npa = '819'`
    })
  )

  const refused: ReadonlyArray<readonly [name: string, code: string, lines: ReadonlyArray<string>]> = [
    [
      "a file whose malformed share exceeds 1 %",
      "TooManyMalformed",
      manhattan.map((line, n) => (n % 50 === 7 ? "?" : line))
    ],
    ["an HTML page in the file's place", "NotRecognized", ["<!DOCTYPE html>", "<html><body>Not found</body></html>"]],
    ["a file without records", "NoRecords", manhattan.slice(0, 1)],
    [
      "a Canadian file that claims a US area code",
      "ConflictingCodes",
      toronto.map((line) => line.replace(/^416,/, "212,"))
    ]
  ]
  for (const [name, code, lines] of refused) {
    it.effect(`refuses ${name}, and the old data stays`, () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const before = yield* storedDigest
        const count = yield* ingestionCount
        const source = writeLines(folder, lines)
        const [failure, ...others] = failuresOf(yield* ingest([source]))
        assert.strictEqual(failure?.code, code)
        assert.include(failure!.message, source)
        assert.deepStrictEqual(others, [])
        assert.strictEqual(yield* storedDigest, before)
        assert.strictEqual(yield* ingestionCount, count)
      })
    )
  }

  it.effect("a refused source does not keep the next one from being ingested", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const events = yield* ingest([`${folder}/nothing-here`, writeLines(folder, manhattan)])
      assert.deepStrictEqual(
        events.filter((event) => event._tag !== "Progress").map((event) => event._tag),
        ["Failed", "Ingested"]
      )
    })
  )

  it.effect("keeps history: what was loaded when, newest first, in pages", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const source = writeLines(folder, manhattan)
      yield* ingest([source])
      const ingestions = yield* Ingestions
      const all = yield* ingestions.history
      assert.strictEqual(all.length, yield* ingestionCount)
      const [newest] = all
      const { finishedAt, id: _, sha256, startedAt, ...rest } = newest!
      assert.deepStrictEqual(rest, {
        kind: "NANPA",
        source,
        publicationDate: "2026-07-06",
        read: 800,
        ...none,
        malformed: 0
      })
      assert.match(sha256, /^[0-9a-f]{64}$/)
      assert.isTrue(new Date(startedAt).toISOString() === startedAt && startedAt <= finishedAt)
      const walked = []
      let before: number | undefined
      for (;;) {
        const page = yield* ingestions.historyPage({ limit: 2, before })
        if (page.length === 0) break
        assert.isAtMost(page.length, 2)
        walked.push(...page)
        before = page.at(-1)!.id
      }
      assert.deepStrictEqual(walked, all)
    })
  )

  it.effect("the carrier type list and the NPA report replace their own records as a whole", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const list = listLines
      const report = reportLines
      yield* ingest([writeUtf8(folder, list), writeUtf8(folder, report)])
      const before = yield* storedDigest
      const otherList = list
        .filter((line) => !line.startsWith("0004,"))
        .map((line) => (line.startsWith("5562,") ? line.replace("Metro by T-Mobile", "Metro") : line))
      const otherReport = report.map((line) =>
        line.startsWith("902,") ? line.replace("NOVA SCOTIA - PRINCE EDWARD ISLAND", "PRINCE EDWARD ISLAND") : line
      )
      const events = yield* ingest([writeUtf8(folder, otherList), writeUtf8(folder, otherReport)])
      assert.deepStrictEqual(
        summariesOf(events).map(({ added, changed, kind, removed }) => ({ kind, added, changed, removed })),
        [
          { kind: "CARRIER_TYPES", added: 0, changed: 1, removed: 1 },
          { kind: "NPA_REPORT", added: 0, changed: 1, removed: 0 }
        ]
      )
      yield* ingest([writeUtf8(folder, list), writeUtf8(folder, report)])
      const sql = yield* SqlClient.SqlClient
      yield* sql`update directory_generation set generation = generation - 4`
      assert.strictEqual(yield* storedDigest, before)
    })
  )

  it.effect(
    "[directory 6.6] tells and keeps what a file changes, before and after, but not of the first of its kind",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const folder = yield* temporaryFolder
        yield* ingest([writeLines(folder, manhattan)])
        yield* sql`delete from directory_changes`
        const kept = sql`select key, change, before, after from directory_changes order by ingestion, key`
        const company = (company_name: string, status = "ASSIGNED") => ({ company_name, status })
        const expected = [
          ["212-200", "removed", company("ONVOY, LLC - NY"), null],
          ["212-201", "changed", company("PAETEC ITEL, LLC"), company("PAETEC NEW YORK")],
          ["212-226", "changed", company("VERIZON NEW YORK, INC."), company("VERIZON NEW YORK, INC.", "RESERVED")]
        ]
        const file = writeLines(folder, changedManhattan)
        const shown = (changes: ReadonlyArray<ShownChange>) =>
          changes.map(({ after, before, change, key }) => [
            key,
            change,
            before && company(String(before.company_name), String(before.status)),
            after && company(String(after.company_name), String(after.status))
          ])
        const [tried] = summariesOf(yield* ingest([file], { dryRun: true }))
        const summary = tried!.changes
        assert.deepInclude(shown(summary).slice(1), expected[1])
        assert.deepStrictEqual(shown(summary).slice(1), expected.slice(1))
        assert.strictEqual(summary[0]?.change, "removed")
        assert.deepStrictEqual(yield* kept, [])
        const [taken] = summariesOf(yield* ingest([file]))
        assert.deepStrictEqual(taken!.changes, summary)
        assert.deepStrictEqual(yield* kept, summary)
        assert.deepStrictEqual(Object.keys(summary[1]!.before!).sort(), [
          "company_name",
          "country",
          "ocn",
          "pooled",
          "rate_center",
          "state",
          "status"
        ])
        yield* ingest([file])
        assert.lengthOf(yield* kept, 3)
        // The next ingestion drops what is too old.
        yield* sql`update directory_ingestions set finished_at = now() - interval '401 days'`
        yield* ingest([writeLines(folder, manhattan)])
        assert.deepStrictEqual(
          (yield* kept).map(({ change }) => change),
          ["added", "changed", "changed"]
        )
      })
  )

  it.effect("a report on thousands blocks replaces the blocks of the area codes that it names", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* ingest([writeLines(folder, manhattan)])
      const line = (number: string, status: string, ocn: string) =>
        `NY,${number.slice(0, 3)},${number.slice(3, 6)},${number[6]},${status},"HOLDER, LLC",${ocn}`
      const header = "State,NPA,NXX,X,Status,Assigned To,OCN"
      const blocks = Array.from({ length: 40 }, (_, n) => line(String(2_122_000 + n), "AS", "123A"))
      const other = line("9172000", "AS", "123A")
      const first = writeLines(folder, [header, ...blocks, other])
      assert.deepStrictEqual(differenceOf(yield* ingest([first])), { ...none, added: 41 })
      assert.deepStrictEqual(differenceOf(yield* ingest([first])), none)
      const next = [header, line("2122000", "AV", ""), ...blocks.slice(1, 39)]
      const events = yield* ingest([writeLines(folder, next)])
      assert.deepStrictEqual(differenceOf(events), { added: 0, changed: 1, removed: 1 })
      assert.deepInclude(summariesOf(events)[0], { kind: "NANPA_BLOCKS", leftOut: ["917"] })
      // A report that was cut loses more of an area code than a new one does.
      const cut = yield* ingest([writeLines(folder, next.slice(0, 20))])
      assert.strictEqual(failuresOf(cut)[0]?.code, "TooManyRemovals")

      const { index } = yield* loadIndex
      const found = (tn: string) => findNumber(index, tn)!
      assert.deepStrictEqual(found("2122010123").carrier, {
        ocn: "123A",
        companyName: "HOLDER, LLC",
        commonName: null,
        carrierType: null
      })
      assert.strictEqual(found("2122010123").carrierBasis, "block")
      const ofCode = findCode(index, "212", "200")
      assert.deepStrictEqual(found("2122000123"), ofCode)
      assert.strictEqual(ofCode?.carrierBasis, "code")
      assert.deepStrictEqual(
        Result.getOrThrow(areaCodeByNpa(index, "212", { nxx: "200", blocks: true })).exchanges[0]!.blocks!.slice(0, 2),
        [
          { block: "0", ocn: null, company_name: "HOLDER, LLC", status: "UNASSIGNED" },
          { block: "1", ocn: "123A", company_name: "HOLDER, LLC", status: "ASSIGNED" }
        ]
      )
    })
  )

  it.effect("removes no record that a line without a clear key may be about", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* ingest([writeLines(folder, manhattan), writeUtf8(folder, listLines)])
      const before = yield* storedDigest
      // Two lines that have become one, a carrier's number that lost a digit.
      const joined = [...manhattan.slice(0, 10), manhattan[10]! + manhattan[11]!, ...manhattan.slice(12)]
      const cut = listLines.map((line) => (line.startsWith("0004,") ? line.slice(1) : line))
      const events = yield* ingest([writeLines(folder, joined), writeUtf8(folder, cut)])
      assert.deepStrictEqual(failuresOf(events), [])
      assert.deepStrictEqual(
        summariesOf(events).map(({ kept, malformed, removed }) => [malformed.total, kept, removed]),
        [
          [1, 2, 0],
          [1, 1, 0]
        ]
      )
      assert.strictEqual(yield* storedDigest, before)
    })
  )

  it.effect("takes a name that a record did not have, and one that it has no longer", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* ingest([writeLines(folder, manhattan)])
      const before = yield* storedDigest
      const named = '"VERIZON NEW YORK, INC."'
      const unnamed = manhattan.map((line) => (line.includes("212-226") ? line.replace(named, '""') : line))
      assert.notDeepEqual(unnamed, manhattan)
      const one = { ...none, changed: 1 }
      assert.deepStrictEqual(differenceOf(yield* ingest([writeLines(folder, unnamed)])), one)
      assert.deepStrictEqual(differenceOf(yield* ingest([writeLines(folder, manhattan)])), one)
      const sql = yield* SqlClient.SqlClient
      yield* sql`update directory_generation set generation = generation - 2`
      assert.strictEqual(yield* storedDigest, before)
    })
  )

  it.effect("measures a file by the publication in force, which is the last one that was taken", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const { run } = yield* Ingestions
      const older = writeLines(
        folder,
        toronto.map((line) => line.replace("2025-09-12", "2024-10-10"))
      )
      const take = (allowOlder: boolean) => Stream.runCollect(run([older], { allowOlder }))
      yield* ingest([writeLines(folder, toronto)])
      const refused = yield* take(false)
      assert.deepStrictEqual(
        failuresOf(refused).map(({ code }) => code),
        ["OlderPublication"]
      )
      assert.strictEqual(summariesOf(yield* take(true))[0]?.publicationDate, "2024-10-10")
      // It is in force now, so it needs no word any more.
      assert.deepStrictEqual(failuresOf(yield* take(false)), [])
      yield* ingest([writeLines(folder, toronto)])
    })
  )

  it.effect("that ends while a node loads is in what it loads as a whole or not at all", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const folder = yield* temporaryFolder
      const seen = Effect.map(loadIndex, ({ index, state }) => [index.codes.nxx.length, state.generation])
      const before = yield* seen
      const isHeld = yield* Deferred.make<void>()
      // The load has read the codes and waits for the area codes when the records and the generation change.
      const storing = sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`lock table directory_area_codes in access exclusive mode`
          yield* Deferred.succeed(isHeld, undefined)
          yield* until(Effect.map(sql`select 1 from pg_locks where not granted`, (rows) => rows.length > 0))
          yield* sql`delete from directory_codes where npa = '212' and nxx = '200'`
          yield* sql`update directory_generation set generation = generation + 1`
        })
      )
      const fiber = yield* Effect.forkChild(storing)
      yield* Deferred.await(isHeld)
      assert.deepStrictEqual(yield* seen, before)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(yield* seen, [before[0]! - 1, before[1]! + 1])
      yield* ingest([writeLines(folder, manhattan)])
    })
  )
})
