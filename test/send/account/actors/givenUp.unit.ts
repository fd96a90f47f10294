/** A bounce that was given up and not refused for good: it is seen, and counts for nobody. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Admission } from "../../../../src/send/index.ts"

describe("a bounce that does not count", () => {
  it.effect("[handoff 6] pauses no account and suppresses nobody, and one that counts does so after it", () =>
    Effect.gen(function* () {
      const { dispatch, report, send, verify } = yield* Admission
      yield* verify("ann", "good.test")
      const ids = ["a", "b", "c"]
      const emails = ids.map((id) => ({ id, from: "ann@good.test", recipients: [`${id}@x.test`] }))
      yield* send("ann", emails)
      yield* dispatch(
        "ann",
        ids.map((id) => ({ id, recipients: [`${id}@x.test`] }))
      )
      const bounces = (counts: boolean) =>
        ids.map((id) => ({ id, what: "bounced", recipient: `${id}@x.test`, suppresses: counts, counts }) as const)
      expect(yield* report("ann", bounces(false))).toMatchObject({ trustStage: "probation" })
      const [again] = yield* send("ann", [{ id: "d", from: "ann@good.test", recipients: ["a@x.test"] }])
      expect(again).toMatchObject({ state: "queued" })
      expect(yield* report("ann", bounces(true))).toMatchObject({
        trustStage: "sending_paused",
        pauseReason: "bounces"
      })
    }).pipe(Effect.provide(Admission.layerMemory({ upgradeUrl: "https://up.test" })))
  )
})
