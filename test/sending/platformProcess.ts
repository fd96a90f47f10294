/**
 * `sluice` with a witness: whatever the local mailbox takes is also written to a file that outlives the process, a line for each mail with the time, this life's number and
 * the email's id. Started by a kill run in place of the platform, which knows nothing of it.
 */
import { appendFileSync } from "node:fs"
import { Effect, Layer } from "effect"
import { defaultHandoffSettings } from "../../src/send/handoff/Handoff.ts"
import { CaptureMailbox } from "../../src/send/transport/CaptureMailbox.ts"

/** Names the file. */
export const witnessVariable = "SENDING_WITNESS_FILE"

const file = process.env[witnessVariable]
if (file !== undefined) {
  const mailbox = CaptureMailbox.layer
  const witnessed = Layer.effect(
    CaptureMailbox,
    Effect.map(CaptureMailbox, (real) => ({
      ...real,
      keep: (mail: Parameters<typeof real.keep>[0], envelope: Parameters<typeof real.keep>[1]) =>
        Effect.andThen(
          Effect.sync(() => appendFileSync(file, `${Date.now()} ${process.pid} ${mail.id}\n`)),
          real.keep(mail, envelope)
        )
    }))
  ).pipe(Layer.provide(mailbox))
  // Read when the platform is put together, which is later.
  Object.assign(CaptureMailbox, { layer: witnessed })
  // What was under way at a kill is looked at again after this, in place of a minute.
  Object.assign(defaultHandoffSettings, { leaseMillis: 6_000, batchMillis: 5_000, deliverTimeoutMillis: 3_000 })
  await import("../../src/main.ts")
}
