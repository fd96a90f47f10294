/**
 * Counts the results of requests to send: emails accepted, and requests refused by the code of their answer
 * (docs/platform.md, 8.2).
 */
import { Effect, Metric } from "effect"

const accepted = (mode: string) =>
  Metric.counter("sluice_send_emails_accepted_total", {
    description: "Emails accepted, by mode; repeats under an idempotency key count once",
    incremental: true,
    attributes: { mode }
  })

const refused = (code: string) =>
  Metric.counter("sluice_send_requests_refused_total", {
    description: "Requests to send that were refused after they were let in, by error code",
    incremental: true,
    attributes: { code }
  })

export interface SendMetrics {
  readonly accepted: (mode: "live" | "test", emails: number) => void
  readonly refused: (code: string) => void
}

/** Error codes are a short list, and so are the series. */
export const makeSendMetrics: Effect.Effect<SendMetrics> = Effect.map(Effect.context<never>(), (context) => {
  const codes = new Map<string, Metric.Counter<number>>()
  const modes = { live: accepted("live"), test: accepted("test") }
  for (const counter of Object.values(modes)) counter.updateUnsafe(0, context)
  return {
    accepted: (mode, emails) => modes[mode].updateUnsafe(emails, context),
    refused: (code) => {
      const counter = codes.get(code) ?? refused(code)
      codes.set(code, counter)
      counter.updateUnsafe(1, context)
    }
  }
})
