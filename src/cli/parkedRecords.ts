/**
 * Implements `sluice parked list | show | retry | dismiss`: records that a reactor of the running platform could not
 * process.
 */
import { Console, Data, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminClient } from "../admin/AdminClient.ts"
import { withAdmin } from "./admin.ts"
import { json, settingFlags } from "./flags.ts"
import { printJson, printTable } from "./output.ts"

const dataDir = { dataDir: settingFlags.dataDir }

const organization = Argument.String("organization").pipe(Argument.withDescription("Id of the organization"))

const reactor = Flag.String("reactor").pipe(
  Flag.withDescription("Name of the reactor; need not be given where there is but one"),
  Flag.optional
)

const common = { reactor, json, ...dataDir }

const named = (flag: Option.Option<string>) =>
  Option.match(flag, { onNone: () => ({}), onSome: (reactor) => ({ reactor }) })

/** The given place of a record is malformed. */
export class NoPlace extends Data.TaggedError("NoPlace")<{ readonly text: string }> {
  override get message(): string {
    return `A record is named by its frame and its index in it, such as 1207/0, not ${JSON.stringify(this.text)}`
  }
}

const list = Command.make("list", common, (flags) =>
  withAdmin(
    flags,
    Effect.gen(function* () {
      const client = yield* AdminClient
      const found: Array<{ readonly organization: string; readonly partition: number; readonly records: number }> = []
      let after: string | undefined
      while (true) {
        const page = yield* client.parked.list({
          query: { ...named(flags.reactor), limit: 100, ...(after === undefined ? {} : { after }) }
        })
        found.push(...page.organizations)
        after = page.organizations.at(-1)?.organization
        if (page.hasMore && after !== undefined) continue
        if (flags.json) return yield* printJson({ reactor: page.reactor, records: page.records, organizations: found })
        return yield* printTable(
          ["ORGANIZATION", "PARTITION", "RECORDS"],
          found.map((one) => [one.organization, `${one.partition}`, `${one.records}`]),
          `Nothing is parked at ${page.reactor}.`
        )
      }
    })
  )
).pipe(Command.withDescription("Organizations with parked records"))

const show = Command.make("show", { organization, ...common }, (flags) =>
  withAdmin(
    flags,
    Effect.gen(function* () {
      const client = yield* AdminClient
      const found = yield* client.parked.show({
        params: { id: flags.organization },
        query: { ...named(flags.reactor), limit: 100 }
      })
      if (flags.json) return yield* printJson(found)
      yield* printTable(
        ["RECORD", "ERROR", "CONTENT"],
        found.records.map(({ error, index, record, sequence }) => [`${sequence}/${index}`, error, record]),
        `Nothing of ${flags.organization} is parked at ${found.reactor}.`
      )
    })
  )
).pipe(Command.withDescription("An organization's first hundred parked records, and why each is parked"))

const retry = Command.make("retry", { organization, ...common }, (flags) =>
  withAdmin(
    flags,
    Effect.gen(function* () {
      const client = yield* AdminClient
      let retried = 0
      while (true) {
        const done = yield* client.parked.retry({ params: { id: flags.organization }, payload: named(flags.reactor) })
        retried += done.retried
        if (done.left > 0 && done.error === undefined && done.retried > 0) continue
        if (flags.json) return yield* printJson({ ...done, retried })
        yield* Console.log(`Retried ${retried}; ${done.left} left.`)
        if (done.error !== undefined) yield* Console.log(`The first of them failed again: ${done.error}`)
        return
      }
    })
  )
).pipe(Command.withDescription("Try an organization's parked records again, in order, until one fails"))

const dismiss = Command.make(
  "dismiss",
  {
    organization,
    record: Argument.String("record").pipe(Argument.withDescription("The record as `show` names it, such as 1207/0")),
    ...common
  },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        const place = /^(\d{1,15})\/(\d{1,9})$/.exec(flags.record)
        if (place === null) return yield* new NoPlace({ text: flags.record })
        const done = yield* client.parked.dismiss({
          params: { id: flags.organization },
          payload: { ...named(flags.reactor), sequence: Number(place[1]), index: Number(place[2]) }
        })
        if (flags.json) return yield* printJson(done)
        yield* Console.log(
          `Dismissed ${flags.record} of ${flags.organization}: its effects never happen. What stood behind it waits for \`sluice parked retry ${flags.organization}\`.`
        )
      })
    )
).pipe(Command.withDescription("Give up an organization's first parked record, so that the later ones can be retried"))

export const parked = Command.make("parked").pipe(
  Command.withDescription("Records that a reactor could not process"),
  Command.withSubcommands([list, show, retry, dismiss])
)
