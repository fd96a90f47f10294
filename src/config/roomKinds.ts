/**
 * The kinds of settings that a folder knows best: NATS its addresses, webhooks their keys and their waits. `kinds.ts`
 * has the others.
 */
import { Redacted, Result } from "effect"
import { eventRetentionMillis } from "../events/event.ts"
import { parseNatsAddress } from "../nats/address.ts"
import { maximumRetries } from "../webhooks/delivery/schedule.ts"
import { parseSecretsKeys } from "../webhooks/secret/secretsKeys.ts"
import { durations, setting, withoutCredentials } from "./kinds.ts"

export const natsUrl = setting(
  "an address such as nats://user:password@host:4222, several separated by commas",
  (value) => (Result.isSuccess(parseNatsAddress(Redacted.make(value))) ? value : undefined),
  {
    explain: (value) => {
      const address = parseNatsAddress(Redacted.make(value))
      return Result.isFailure(address) ? address.failure.reason : undefined
    },
    show: (value) =>
      value
        .split(",")
        .map((one) => withoutCredentials(one.trim()))
        .join(",")
  }
)

/** Keys: the first one encrypts, the others are earlier ones that only decrypt. */
export const secretsKeys = setting(
  "32 bytes in base64 or hexadecimal, such as `openssl rand -base64 32` makes, earlier keys behind a comma",
  (value) => parseSecretsKeys(value)
)

/** The waits before the retries of a delivery; none is longer than its event is kept. */
export const retryDelays = durations(maximumRetries, eventRetentionMillis)
