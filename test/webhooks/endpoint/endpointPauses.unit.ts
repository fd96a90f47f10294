/** The states of an endpoint (docs/platform.md, 6.4), and what leads from one to another: failures, pauses, an answer of 410, its owner. */
import { describe, expect, it } from "@effect/vitest"
import { maximumRememberedFailures, statusOf } from "../../../src/webhooks/endpoint/model.ts"
import {
  create,
  disable,
  disposition,
  enable,
  endpointId,
  failure,
  failures,
  given,
  gone,
  noon,
  paused,
  requestTest,
  rotate,
  success,
  unpause,
  update,
  url,
  wakeBy
} from "./endpoints.ts"

describe("the state of an endpoint", () => {
  it("is Active at first, and events are delivered", () => {
    const { state } = given().when(create).thenFacts("Created").thenIt({ isActive: true, paused: null })
    expect(statusOf(state)).toBe("active")
    expect(disposition(state)).toBe("delivered")
  })
  it("is Active again after an unpause, and events are delivered", () => {
    const { state } = given(...paused)
      .when(unpause)
      .thenFacts("Unpaused")
      .thenIt({ paused: null })
    expect(statusOf(state)).toBe("active")
    expect(disposition(state)).toBe("delivered")
  })
  it("is Disabled when its owner says so, and events are skipped", () => {
    const { state } = given(create).when(disable).thenFacts("Updated").thenIt({ isActive: false })
    expect(statusOf(state)).toBe("disabled")
    expect(disposition(state)).toBe("skipped")
  })
  it("is Paused at the tenth failed delivery in a row, and events are skipped", () => {
    const { state } = given(create, ...failures(9))
      .when(failure("last"))
      .thenFacts("DeliveryFailed", "Paused")
      .thenIt({ paused: { reason: "failures", at: noon }, consecutiveFailures: 10, isActive: true })
    expect(statusOf(state)).toBe("paused")
    expect(disposition(state)).toBe("skipped")
  })
  it("stays Paused whatever happens, until somebody unpauses it", () => {
    for (const command of [
      success,
      failure("more"),
      gone(),
      enable,
      update({ url: "https://example.org" }),
      rotate("s2"),
      requestTest
    ])
      expect(statusOf(given(...paused).when(command).state)).toBe("paused")
    expect(wakeBy(given(...paused).state, noon + 1e12)).toEqual(given(...paused).state)
  })
})

describe("consecutive_failures", () => {
  it("counts one by one", () => {
    for (let count = 0; count <= 9; count++)
      expect(given(create, ...failures(count)).state.consecutiveFailures).toBe(count)
  })
  it("is cleared by a success, and begins anew", () => {
    given(create, ...failures(9))
      .when(success)
      .thenFacts("FailuresReset")
      .thenIt({ consecutiveFailures: 0 })
    given(create, ...failures(9), success, ...failures(9, "e"))
      .when(success)
      .thenIt({ paused: null })
    expect(statusOf(given(create, ...failures(9), success, ...failures(9, "e")).state)).toBe("active")
  })
  it("a success without failures before is no fact", () => given(create).when(success).thenFacts())
  it("a delivery that is reported twice counts once", () => {
    given(create, failure("a")).when(failure("a")).thenFacts().thenIt({ consecutiveFailures: 1 })
    given(create, failure("a"), failure("b")).when(failure("a")).thenIt({ consecutiveFailures: 2 })
    given(...paused, unpause)
      .when(failure("d9"))
      .thenFacts()
      .thenIt({ consecutiveFailures: 0, paused: null })
  })
  it("stops at the pause: what was in flight adds nothing", () => {
    given(...paused)
      .when(failure("in flight"))
      .thenFacts()
      .thenEvents()
      .thenIt({ consecutiveFailures: 10 })
  })
  it("remembers a bounded number of deliveries", () => {
    const rounds = Math.ceil(maximumRememberedFailures / 10) + 2
    const { state } = given(
      create,
      ...Array.from({ length: rounds }, (_, round) => [...failures(10, `r${round}-`), unpause]).flat()
    )
    expect(state.failedDeliveries.length).toBe(maximumRememberedFailures)
    expect(state.failedDeliveries.at(-1)).toBe(`r${rounds - 1}-9`)
  })
})

describe("[platform 7.5] the warning and the pause", () => {
  const data = { endpoint_id: endpointId, url, last_delivery_status: 503 }
  it("[platform 5.2, 7.5] come with the fifth and the tenth failure, each with its event, and with no other", () => {
    for (let before = 0; before < 14; before++) {
      const { decision } = given(create, ...failures(before)).when(failure("next", 503))
      const expected =
        before === 4
          ? [{ type: "platform.webhook.failing", data: { ...data, consecutive_failures: 5 } }]
          : before === 9
            ? [{ type: "platform.webhook.paused", data: { ...data, consecutive_failures: 10, reason: "failures" } }]
            : []
      expect(decision.events).toEqual(expected.map((event) => ({ ...event, service: "platform", livemode: true })))
    }
  })
  it("come again after a success or an unpause in between", () => {
    given(create, ...failures(7), success, ...failures(4, "e"))
      .when(failure("next"))
      .thenEvents({ type: "platform.webhook.failing" })
    given(...paused, unpause, ...failures(9, "e"))
      .when(failure("next"))
      .thenEvents({ type: "platform.webhook.paused" })
  })
  it("come also where nothing answered", () => {
    given(create, ...failures(9))
      .when(failure("next", 0))
      .thenEvents({ data: { ...data, consecutive_failures: 10, last_delivery_status: 0, reason: "failures" } })
  })
  it("come also while Disabled, for what was in flight", () => {
    given(create, ...failures(9), disable)
      .when(failure("next"))
      .thenFacts("DeliveryFailed", "Paused")
  })
})

describe("an answer of 410 pauses", () => {
  it("at an attempt that is not the last, without counting a failed delivery", () => {
    given(create)
      .when(gone())
      .thenFacts("Paused")
      .thenIt({ paused: { reason: "gone", at: noon }, consecutiveFailures: 0 })
      .thenEvents({
        type: "platform.webhook.paused",
        data: { endpoint_id: endpointId, url, consecutive_failures: 0, last_delivery_status: 410, reason: "gone" }
      })
  })
  it("at the last one, which counts", () => {
    given(create).when(failure("a", 410)).thenFacts("DeliveryFailed", "Paused").thenIt({ consecutiveFailures: 1 })
    given(create, ...failures(4))
      .when(failure("a", 410))
      .thenEvents({ type: "platform.webhook.failing" }, { type: "platform.webhook.paused", data: { reason: "gone" } })
  })
  it("once", () => {
    given(create, gone()).when(gone()).thenFacts().thenEvents()
    given(...paused)
      .when(gone())
      .thenFacts()
      .thenIt({ paused: { reason: "failures" } })
  })
})

describe("an unpause clears the failures", () => {
  it("and is no fact for an endpoint that is not paused", () => {
    given(...paused)
      .when(unpause)
      .thenIt({ consecutiveFailures: 0 })
    given(create, ...failures(3))
      .when(unpause)
      .thenFacts()
      .thenIt({ consecutiveFailures: 3 })
  })
})

describe("[platform 6.4] a pause and being Disabled are independent", () => {
  it("disabling and enabling a paused endpoint leaves it paused", () => {
    expect(statusOf(given(...paused, disable).state)).toBe("disabled")
    given(...paused, disable)
      .when(enable)
      .thenIt({ isActive: true, paused: { reason: "failures" } })
    expect(statusOf(given(...paused, disable, enable).state)).toBe("paused")
  })
  it("unpausing a disabled endpoint leaves it disabled", () => {
    expect(statusOf(given(...paused, disable, unpause).state)).toBe("disabled")
  })
  it("enabling keeps the counter", () => {
    given(create, ...failures(3), disable)
      .when(enable)
      .thenIt({ consecutiveFailures: 3 })
  })
})
