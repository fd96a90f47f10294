/** Previews of requests to an account, on an engine: they say what a request would come to, and leave nothing behind. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Engine } from "../../../../src/engine/Engine.ts"
import { type AdmitEmail, SendAccount } from "../../../../src/send/index.ts"
import { begun, email, emails, onEngine, organization, upgradeUrl } from "./support.ts"

const target = { organization, key: "live" }
const once = { key: "k", digest: "d" }
const command = (tag: "Preview" | "Admit", asked: ReadonlyArray<AdmitEmail>) => ({
  _tag: tag,
  emails: asked,
  upgradeUrl
})

describe("a preview", () => {
  it.effect("[send 3.1] says what the request would come to, and changes nothing", () =>
    Effect.gen(function* () {
      const { accountState, admit, senderState, stateOf } = yield* begun()
      const engine = yield* Engine
      const preview = (...asked: ReadonlyArray<AdmitEmail>) =>
        Effect.flip(engine.ask(SendAccount, target, command("Preview", asked)))
      const before = [yield* accountState, yield* senderState()]
      expect(yield* preview(email("a"))).toEqual({ _tag: "Acceptable" })
      expect(yield* preview(email("a", { from: "x@else.test" }))).toMatchObject({ code: "sender_not_verified" })
      expect(yield* preview(...emails(51, "b"))).toMatchObject({ code: "probation_limit_reached", limit: 50 })
      expect(yield* preview()).toMatchObject({ _tag: "RequestInvalid" })
      expect([yield* accountState, yield* senderState()]).toEqual(before)
      expect((yield* stateOf("a")).state).toBe("none")
      yield* admit(...emails(50, "c"))
      expect(yield* preview(email("d"))).toMatchObject({ code: "probation_limit_reached" })
    }).pipe(onEngine)
  )

  it.effect("[send 3.1] under an idempotency key leaves the key free, and answers what was accepted under it", () =>
    Effect.gen(function* () {
      yield* begun()
      const engine = yield* Engine
      const ask = (tag: "Preview" | "Admit", digest = once.digest) =>
        engine.askOnce(SendAccount, target, command(tag, [email("a")]), { ...once, digest })
      expect(yield* Effect.flip(ask("Preview"))).toEqual({ _tag: "Acceptable" })
      const accepted = yield* ask("Admit")
      expect(accepted.isReplay).toBe(false)
      expect(yield* ask("Preview")).toEqual({ reply: accepted.reply, isReplay: true })
      expect(yield* Effect.flip(ask("Preview", "other"))).toMatchObject({ _tag: "IdempotencyConflict" })
    }).pipe(onEngine)
  )
})
