/**
 * Requests that are asked again under the same random id, because their outcome was not known: an endpoint's rules answer them as they did and
 * do nothing twice, whatever has happened in between.
 */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  type Endpoint,
  type EndpointCommand,
  type EndpointReply,
  maximumRememberedRequests
} from "../../../src/webhooks/endpoint/model.ts"
import { WebhookEndpoint } from "../../../src/webhooks/endpoint/rules.ts"
import { often } from "../../support/often.ts"
import { create, decideOn, disable, enable, failure, failures, given, noon, rotate, unpause } from "./endpoints.ts"

const minute = 60_000
const testOf = (requestId: string) => ({ _tag: "RequestTest", requestId }) as const
const replayOf = (replayId: string) =>
  ({ _tag: "RequestReplay", replayId, since: noon - minute, until: null, types: null }) as const
const unpauseOf = (replayId: string) => ({ _tag: "Unpause", replayId }) as const

describe("a request that is repeated with its id", () => {
  it("a test is the same event, also once the endpoint is disabled", () => {
    const first = given(create).when(testOf("t1")).thenFacts("TestRequested")
    const eventId = first.decision.reply?.eventId
    for (const between of [[], [disable], failures(10)]) {
      const again = given(create, testOf("t1"), ...between)
        .when(testOf("t1"), { now: noon + minute })
        .thenFacts()
      expect(again.decision.reply?.eventId).toBe(eventId)
    }
    const other = given(create, testOf("t1"))
      .when(testOf("t2"), { now: noon + minute })
      .thenFacts("TestRequested")
    expect(other.decision.reply?.eventId).not.toBe(eventId)
  })

  it("a replay is the same interval, also once the endpoint is paused, disabled, or the interval is too long ago", () => {
    const replay = { replayId: "r1", since: noon - minute, until: noon + 1 }
    for (const between of [[], [disable], failures(10)]) {
      const again = given(create, replayOf("r1"), ...between)
        .when(replayOf("r1"), { now: noon + 31 * 24 * 60 * minute })
        .thenFacts()
      expect(again.decision.reply?.replay).toEqual(replay)
    }
  })

  it("an unpause with replay tells of its replay, and undoes no later pause", () => {
    const replay = { replayId: "r1", since: noon, until: noon + 1 }
    const again = given(create, ...failures(10), unpauseOf("r1"))
      .when(unpauseOf("r1"))
      .thenFacts()
    expect(again.decision.reply?.replay).toEqual(replay)
    given(create, ...failures(10), unpauseOf("r1"), ...failures(10, "e"))
      .when(unpauseOf("r1"))
      .thenFacts()
      .thenIt({ paused: { reason: "failures" } })
  })

  it("a create or a rotation is none, also while its secret is the one before", () => {
    given(create, rotate("s2")).when(create).thenFacts().thenIt({ secretId: "s2" })
    given(create, rotate("s2"), rotate("s3"))
      .when(rotate("s2"))
      .thenFacts()
      .thenIt({ secretId: "s3", previousSecret: { secretId: "s2" } })
  })

  it("is remembered among a bounded number of them", () => {
    const ids = Array.from({ length: maximumRememberedRequests + 4 }, (_, at) => `t${at}`)
    const { state } = given(create, ...ids.map(testOf))
    expect(state.recentRequests?.map(({ id }) => id)).toEqual(ids.slice(4))
    given(create, ...ids.map(testOf))
      .when(testOf("t4"))
      .thenFacts()
    given(create, ...ids.map(testOf))
      .when(testOf("t3"), { now: noon + minute })
      .thenFacts("TestRequested")
  })

  it("a state of before they were remembered is read, and remembers from then on", () => {
    const { recentRequests, ...before } = given(create, testOf("t1")).state
    expect(recentRequests).toHaveLength(1)
    const read = WebhookEndpoint.decodeState(JSON.parse(JSON.stringify(before)), 1)
    expect(decideOn(read, testOf("t2")).state?.recentRequests).toHaveLength(1)
  })
})

const Step = Schema.Union([
  Schema.TaggedStruct("Ask", {
    what: Schema.Literals(["test", "replay", "unpause"]),
    id: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4 }))
  }),
  Schema.TaggedStruct("Other", { what: Schema.Literals(["disable", "enable", "unpause", "failures"]) })
])

describe("after any history", () => {
  it.prop(
    "what was done once under an id is answered as then and not done again",
    [Schema.Array(Step).check(Schema.isMaxLength(60))],
    ([steps]) => {
      const answers = new Map<string, Pick<EndpointReply, "eventId" | "replay">>()
      let state: Endpoint | null = decideOn(null, create).state
      let now = noon
      let failed = 0
      const tell = (command: EndpointCommand) => {
        const made = decideOn(state, command, ++now)
        state = made.state
        return made.decision
      }
      const commands = { test: testOf, replay: replayOf, unpause: unpauseOf }
      for (const step of steps) {
        if (step._tag === "Other") {
          if (step.what === "failures") for (let at = 0; at < 10; at++) tell(failure(`f${++failed}`))
          else tell({ disable, enable, unpause }[step.what])
          continue
        }
        const id = `${step.what}${step.id}`
        const decision = tell(commands[step.what](id))
        const { endpoint: _, ...answer } = decision.reply ?? { endpoint: null }
        const before = answers.get(id)
        if (before !== undefined) {
          expect(decision.facts).toEqual([])
          expect(answer).toEqual(before)
        } else if (decision.facts.some(({ _tag }) => _tag === "TestRequested" || _tag === "ReplayRequested")) {
          expect(answer).not.toEqual({})
          answers.set(id, answer)
        }
      }
    },
    { arbitrary: { runs: often(300) } }
  )
})
