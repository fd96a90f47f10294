/**
 * A PostgreSQL that hangs while the engine is under load. Actors that are in memory need nothing of it: every partition must go on
 * acknowledging decisions all the time.
 */
import { Effect } from "effect"
import type { Callers } from "./callers.ts"
import { firstAccount, secondAccount } from "./model.ts"
import type { Owners } from "./owners.ts"
import type { Server } from "./servers.ts"

export interface HangOptions {
  readonly servers: { readonly postgres: Server }
  readonly owners: Owners
  readonly callers: Callers
  readonly violation: (text: string) => void
  readonly millis: number
}

/** Parts of the time, in each of which every partition must acknowledge something. */
const parts = 4

/** Asks at a time. */
const concurrency = 256

/** Brings every actor that callers may ask for into the owner's memory. */
const warmUp = ({ callers, owners }: HangOptions) =>
  Effect.forEach(
    callers.organizations.flatMap((organization) =>
      [firstAccount, secondAccount].map((of) => [organization, of] as const)
    ),
    ([organization, account]) => Effect.promise(() => callers.see(owners.owner, organization, account)),
    { concurrency, discard: true }
  )

export const hangPostgres = (options: HangOptions): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { callers, millis, servers, violation } = options
    yield* warmUp(options)
    yield* servers.postgres.pausedWhile(
      Effect.gen(function* () {
        for (let part = 1; part <= parts; part++) {
          const before = [...callers.acknowledged]
          yield* Effect.sleep(millis / parts)
          for (const [partition, count] of callers.acknowledged.entries())
            if (count === before[partition])
              violation(
                `PostgreSQL hung, and partition ${partition} acknowledged nothing in part ${part} of ${parts} of ${millis / 1000} s`
              )
        }
      })
    )
  })
