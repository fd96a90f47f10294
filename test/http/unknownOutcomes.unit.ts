/** Requests whose outcome is not known: what changes something says so, and a read, which has no outcome, does not (docs/platform.md, 8.4). */
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { describe, expect, it } from "vitest"
import { repeatable } from "../../src/admin/failures.ts"
import { OutcomeUnknown } from "../../src/engine/errors.ts"
import { makeRequestState, RequestState } from "../../src/http/RequestState.ts"
import { emailFault, sendingFault } from "../../src/send/http/emailErrors.ts"
import { refused } from "../../src/webhooks/http/errors.ts"

const unknown = new OutcomeUnknown({ partition: 0 })

/** What each product says of it. */
const faults: ReadonlyArray<readonly [product: string, fault: Effect.Effect<unknown, unknown>]> = [
  ["webhooks", refused()(Effect.fail(unknown))],
  ["emails", emailFault(unknown)],
  ["sending", sendingFault(unknown, 0)],
  ["operators", repeatable(unknown)]
]

const said = async (method: string, fault: Effect.Effect<unknown, unknown>): Promise<string> => {
  const request = HttpServerRequest.fromWeb(new Request("http://sluice.test/", { method }))
  const told = await Effect.runPromise(
    Effect.flip(fault).pipe(
      Effect.provideService(HttpServerRequest.HttpServerRequest, request),
      Effect.provideService(RequestState, makeRequestState(undefined))
    )
  )
  return JSON.stringify(told)
}

describe("[platform 8.4] an outcome that is not known", () => {
  it.each(faults)("is told to who changes something, and nothing of it to who reads: %s", async (_, fault) => {
    expect(await said("POST", fault)).toMatch(/not known/)
    for (const method of ["GET", "HEAD"]) {
      expect(await said(method, fault)).toContain("the request is safe to repeat")
      expect(await said(method, fault)).not.toMatch(/not known|done|Idempotency|idempotency/)
    }
  })
})
