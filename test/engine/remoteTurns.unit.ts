/** When an ask turns to a newer owner: only where nothing of it can be stored by the one before. */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Remote } from "../../src/engine/ports/Remote.ts"
import { askOwner, RemoteTraffic } from "../../src/engine/shell/remote/ownerCalls.ts"

/** How long the request is on its way, milliseconds. */
const wayMillis = 700

/** Asks for epoch 1, where an owner of epoch 2 answers that has been subscribed for so long. */
const ask = (forMillis: number | undefined) =>
  Effect.gen(function* () {
    const traffic = new RemoteTraffic("asker")
    traffic.saw(0, { epoch: 1 })
    const remote = Remote.of({
      serve: () => Effect.void,
      request: (_partition, payload, { accept }) => {
        const { epoch } = JSON.parse(Buffer.from(payload).toString()) as { readonly epoch: number }
        const said = epoch === 2 ? { epoch: 2, reply: "done" } : { epoch: 2, elsewhere: true, forMillis }
        const bytes = Buffer.from(JSON.stringify(said))
        return Effect.as(
          Effect.tap(Effect.sleep(epoch === 2 ? 0 : wayMillis), () => Effect.sync(() => accept(bytes))),
          bytes
        )
      }
    })
    const clock = yield* Clock.Clock
    const fiber = yield* Effect.forkChild(Effect.result(askOwner({ clock, remote, traffic }, 0, { kind: "counter" })))
    yield* TestClock.adjust(2 * wayMillis)
    return yield* Fiber.join(fiber)
  })

describe("an ask that a newer owner answers", () => {
  it.effect("turns to it when it was there before the ask was sent", () =>
    Effect.gen(function* () {
      expect(yield* ask(wayMillis + 1)).toMatchObject({ _tag: "Success", success: { epoch: 2, reply: "done" } })
    })
  )

  it.effect("turns to one of an older program, which does not say", () =>
    Effect.gen(function* () {
      expect(yield* ask(undefined)).toMatchObject({ _tag: "Success", success: { epoch: 2, reply: "done" } })
    })
  )

  it.effect(
    "is of unknown outcome when that owner came while the ask was on its way: the one before may have stored it",
    () =>
      Effect.gen(function* () {
        expect(yield* ask(wayMillis - 1)).toMatchObject({ _tag: "Failure", failure: { _tag: "OutcomeUnknown" } })
      })
  )
})
