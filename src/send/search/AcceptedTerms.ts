/**
 * Holds the digests of emails from their acceptance until the SQL reactor writes their rows (docs/platform.md, 9.20):
 * the log of decisions does not have them. An email without them, as one that another node accepted, is read again by
 * `layerTermsSweep`. Needs no service.
 */
import { Context, Effect, Latch, Layer } from "effect"
import { BoundedMap } from "../../common/BoundedMap.ts"

/** Emails that wait for their rows; one that was dropped is read again. */
const maximumAcceptedTerms = 20_000

export class AcceptedTerms extends Context.Service<
  AcceptedTerms,
  {
    readonly put: (email: string, digests: ReadonlyArray<number>) => void
    /** The digests of an email, once. */
    readonly take: (email: string) => ReadonlyArray<number> | undefined
    /** Tells the sweep that rows are without terms. */
    readonly missed: () => void
    /** Waits until rows are without terms since the last call. */
    readonly awaitMissed: Effect.Effect<void>
  }
>()("sluice/send/AcceptedTerms") {
  static readonly layer: Layer.Layer<AcceptedTerms> = Layer.sync(AcceptedTerms, () => {
    const waiting = new BoundedMap<string, ReadonlyArray<number>>(maximumAcceptedTerms)
    const latch = Latch.makeUnsafe(false)
    return AcceptedTerms.of({
      put: (email, digests) => waiting.set(email, digests),
      take: (email) => {
        const found = waiting.get(email)
        waiting.delete(email)
        return found
      },
      missed: () => {
        latch.openUnsafe()
      },
      awaitMissed: Effect.andThen(
        latch.await,
        Effect.sync(() => {
          latch.closeUnsafe()
        })
      )
    })
  })
}
