/** Replays of an endpoint as its rules decide them (docs/platform.md, 6.6 and 6.7). */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import type { EndpointCommand } from "../../../src/webhooks/endpoint/model.ts"
import { create, disable, enable, failures, given, noon, unpause, update } from "../endpoint/endpoints.ts"

const day = 24 * 60 * 60 * 1000
const replay = (more: object = {}) =>
  ({ _tag: "RequestReplay", replayId: "rpl_1", since: noon - day, until: null, types: null, ...more }) as const
const unpauseWithReplay = { _tag: "Unpause", replayId: "rpl_1" } as const
const paused = [create, ...failures(10)]

describe("a replay", () => {
  it("is a fact with the interval and the patterns of that moment, and leaves the endpoint as it is but for its memory of requests", () => {
    const { decision, state } = given(create, update({ enabledEvents: ["send.*"] }))
      .when(replay({ types: ["send.email.*"] }))
      .thenFacts("ReplayRequested")
      .thenEvents()
    const interval = { replayId: "rpl_1", since: noon - day, until: noon + 1 }
    expect(decision.facts[0]).toEqual({
      _tag: "ReplayRequested",
      ...interval,
      patterns: ["send.*"],
      types: ["send.email.*"],
      livemode: true
    })
    expect(decision.reply?.replay).toEqual(interval)
    const { recentRequests, ...rest } = state
    expect(rest).toEqual(given(create, update({ enabledEvents: ["send.*"] })).state)
    expect(recentRequests).toEqual([{ id: "rpl_1", since: noon - day, until: noon + 1 }])
  })

  it("without until, or with one to come, it ends with this millisecond", () => {
    for (const until of [null, noon + 1, noon + day])
      expect(given(create).when(replay({ until })).decision.reply?.replay?.until).toBe(noon + 1)
    expect(given(create).when(replay({ until: noon })).decision.reply?.replay?.until).toBe(noon)
  })

  it("is refused unless the endpoint is Active", () => {
    given(...paused)
      .when(replay())
      .thenRejected({ _tag: "EndpointPaused" })
    given(create, disable).when(replay()).thenRejected({ _tag: "EndpointDisabled" })
    given(...paused, disable)
      .when(replay())
      .thenRejected({ _tag: "EndpointDisabled" })
    given(...paused, disable, enable, unpause)
      .when(replay())
      .thenFacts("ReplayRequested")
  })

  it("goes back 30 days and no further", () => {
    given(create)
      .when(replay({ since: noon - 30 * day }))
      .thenFacts("ReplayRequested")
    given(create)
      .when(replay({ since: noon - 30 * day - 1 }))
      .thenRejected({ _tag: "EndpointInvalid", field: "since" })
  })

  it("types that are no patterns are refused with a message about types", () => {
    given(create)
      .when(replay({ types: [] }))
      .thenRejected({ _tag: "InvalidPattern", message: expect.stringMatching(/^types must be/) })
    given(create)
      .when(replay({ types: ["nobody.*"] }))
      .thenRejected({ _tag: "InvalidPattern", message: expect.stringContaining("nobody.*") })
  })

  it.prop(
    "is admitted as the documents say, whatever the interval and the endpoint's state",
    {
      since: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: -40 * day, maximum: 5 }))),
      until: Arbitrary.schema(Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: -40 * day, maximum: 5 })))),
      isPaused: Arbitrary.schema(Schema.Boolean),
      isActive: Arbitrary.schema(Schema.Boolean)
    },
    ({ isActive, isPaused, since, until }) => {
      const life: ReadonlyArray<EndpointCommand> = [...(isPaused ? paused : [create]), ...(isActive ? [] : [disable])]
      const asked = replay({ since: noon + since, until: until === null ? null : noon + until })
      const { decision } = given(...life).when(asked)
      // Milliseconds from 30 days ago to this one, told one condition at a time.
      const isTooOld = since < -30 * day
      const isEmpty = since > 0 || (until !== null && since >= until)
      expect(decision.accepted).toBe(!isTooOld && !isEmpty && isActive && !isPaused)
      const tag = isTooOld || isEmpty ? "EndpointInvalid" : isActive ? "EndpointPaused" : "EndpointDisabled"
      if (!decision.accepted) expect(decision.rejection).toMatchObject({ _tag: tag })
    }
  )
})

describe("an unpause with a replay", () => {
  it("resumes, and replays from the pause to now in the same decision", () => {
    const { decision } = given(...paused)
      .when(unpauseWithReplay, { now: noon + day })
      .thenFacts("Unpaused", "ReplayRequested")
      .thenIt({ paused: null, consecutiveFailures: 0 })
    expect(decision.reply?.replay).toEqual({ replayId: "rpl_1", since: noon, until: noon + day + 1 })
  })

  it("reaches no further back than 30 days", () => {
    const { decision } = given(...paused).when(unpauseWithReplay, { now: noon + 31 * day })
    expect(decision.reply?.replay).toMatchObject({ since: noon + day })
  })

  it("of an endpoint that is not paused changes nothing", () => {
    const { decision } = given(create).when(unpauseWithReplay).thenFacts()
    expect(decision.reply?.replay).toBeUndefined()
  })

  it("is refused while Disabled, and the pause stays", () => {
    given(...paused, disable)
      .when(unpauseWithReplay)
      .thenRejected({ _tag: "EndpointDisabled" })
    given(...paused, disable)
      .when(unpause)
      .thenFacts("Unpaused")
  })
})
