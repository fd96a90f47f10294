/** A process of its own that accepts mail and hands it over, for tests that kill it. Its transport writes the id of each mail into a file. */
import { appendFileSync } from "node:fs"
import { Effect, Redacted } from "effect"
import { startProcess } from "./handoffProcess.ts"
import { messageTo } from "./messageTo.ts"

export interface ChildSettings {
  readonly databaseUrl: string
  readonly natsUrl: string
  readonly namespace: string
  readonly file: string
}

/** What it is told and what it answers: the ids that were accepted, or the states of emails. */
export type ToChild =
  | { readonly _tag: "Send"; readonly count: number }
  | { readonly _tag: "States"; readonly ids: ReadonlyArray<string> }
export type FromChild =
  | { readonly _tag: "Ready" }
  | { readonly _tag: "Sent"; readonly ids: ReadonlyArray<string> }
  | { readonly _tag: "States"; readonly states: ReadonlyArray<string> }

export const settingsVariable = "HANDOFF_CHILD"

const organization = "org_killed"
const many = { emailsPerHour: 5_000, emailsPerDay: 5_000, domainsPerHour: 500 }

const program = (settings: ChildSettings) =>
  Effect.gen(function* () {
    const running = yield* startProcess(
      {
        databaseUrl: Redacted.make(settings.databaseUrl),
        natsUrl: Redacted.make(settings.natsUrl),
        namespace: settings.namespace,
        taken: []
      },
      {
        answer: ({ id }) => {
          appendFileSync(settings.file, `${id}\n`)
          return { _tag: "Accepted" }
        }
      }
    )
    const admission = running.admission()
    yield* admission.setLimits(organization, { emailsPerMonth: "unlimited", probation: many })
    yield* admission.verify(organization, "one.test")
    yield* admission.setDailyCap(organization, "one.test", 50_000)
    const tell = (message: FromChild) => process.send!(message)
    const told = yield* Effect.context<never>()
    process.on("message", (message: ToChild) => {
      const answer =
        message._tag === "Send"
          ? Effect.map(
              running.send(
                organization,
                Array.from({ length: message.count }, () => messageTo(["bob@two.test"]))
              ),
              (sent) => tell({ _tag: "Sent", ids: sent.map(({ id }) => id) })
            )
          : Effect.map(
              Effect.forEach(message.ids, (id) => running.stateOf(organization, id)),
              (states) => tell({ _tag: "States", states: states.map(({ state }) => state) })
            )
      Effect.runForkWith(told)(Effect.orDie<boolean, unknown, never>(answer))
    })
    tell({ _tag: "Ready" })
    return yield* Effect.never
  }).pipe(Effect.scoped)

const settings = process.env[settingsVariable]
if (settings !== undefined) Effect.runFork(program(JSON.parse(settings)))
