/** Sends in an account of a platform that does not run at the moment, on its engine alone: the API by which users will do it is not there yet. */
import { Effect, Layer, Redacted } from "effect"
import { layerEngine } from "../../src/app/engine.ts"
import { layerStores } from "../../src/app/layers.ts"
import { Engine } from "../../src/engine/Engine.ts"
import { NatsConnection } from "../../src/nats/connection.ts"
import {
  type AdmitEmail,
  type EmailReport,
  type Mode,
  SendAccount,
  SendSender,
  senderKey
} from "../../src/send/index.ts"
import { logNamespaceOf, sharedPartitions } from "../support/platform.ts"
import { query, until } from "./support.ts"

export interface Whose {
  readonly organization: string
  readonly mode: Mode
}

/** Room of each log, as platforms of tests have it. */
const logBytes = 16 * 1024 * 1024

/** Has emails of one verified sender accepted, handed over and reported, and waits until the reactor has read it. */
export const sending = async (
  on: { readonly databaseUrl: string; readonly natsUrl: string },
  { mode, organization }: Whose,
  emails: ReadonlyArray<Pick<AdmitEmail, "id" | "signals">>,
  reports: ReadonlyArray<Pick<EmailReport, "id" | "what">>
): Promise<void> => {
  const settings = {
    partitions: sharedPartitions,
    replicas: 1 as const,
    maximumLogBytes: logBytes,
    namespace: logNamespaceOf(new URL(on.databaseUrl).pathname)
  }
  const layer = layerEngine(settings).pipe(
    Layer.provide(NatsConnection.layer({ url: Redacted.make(on.natsUrl) })),
    Layer.provide(layerStores({ databaseUrl: Redacted.make(on.databaseUrl), maxConnections: 6 }))
  )
  const program = Effect.gen(function* () {
    const engine = yield* Engine
    yield* engine.ready
    const account = { organization, key: mode }
    yield* engine.ask(SendSender, { organization, key: senderKey(mode, "one.test") }, { _tag: "Verify" })
    const sender = "one.test"
    const recipients = ["bob@two.test"]
    const admitted = emails.map((email) => ({ ...email, from: `ann@${sender}`, recipients }))
    yield* engine.ask(SendAccount, account, { _tag: "Admit", emails: admitted, upgradeUrl: "https://one.test" })
    if (reports.length === 0) return
    const dispatched = emails.map(({ id }) => ({ id, sender, recipients }))
    yield* engine.ask(SendAccount, account, { _tag: "Dispatch", emails: dispatched })
    const all = [...emails.map(({ id }) => ({ id, what: "handedOver" as const })), ...reports]
    for (const report of all) {
      const whole = { ...report, sender, ...(report.what === "handedOver" ? {} : { recipient: "bob@two.test" }) }
      yield* engine.ask(SendAccount, account, { _tag: "Report", reports: [whole] })
    }
  })
  await Effect.runPromise(
    program.pipe(
      Effect.andThen(
        Effect.promise(() =>
          until(async () => {
            const rows = await query(
              on.databaseUrl,
              "select 1 from send_account_facts where organization_id = $1 and mode = $2 and tag = 'Paused'",
              [organization, mode]
            )
            return rows.length > 0
          })
        )
      ),
      Effect.provide(layer)
    )
  )
}
