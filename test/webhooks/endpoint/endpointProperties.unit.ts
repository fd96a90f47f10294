/** Endpoint rules against a naive model that looks at the whole history each time. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import type { Endpoint, EndpointCommand } from "../../../src/webhooks/endpoint/model.ts"
import { signingSecretIds, statusOf } from "../../../src/webhooks/endpoint/model.ts"
import { WebhookEndpoint } from "../../../src/webhooks/endpoint/rules.ts"
import { often } from "../../support/often.ts"
import {
  create,
  decideOn,
  disable,
  enable,
  failure,
  gone,
  noon,
  remove,
  requestTest,
  rotate,
  success,
  unpause,
  wakeBy
} from "./endpoints.ts"

const Origin = Schema.Literals(["event", "event", "event", "test", "retry"])
/** Failures come often, so that histories reach the pause; successes seldom. */
const Step = Schema.Union([
  Schema.TaggedStruct("Failure", {
    origin: Origin,
    status: Schema.Literals([0, 500, 500, 410]),
    repeats: Schema.Boolean
  }),
  Schema.TaggedStruct("Failures", { count: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 11 })) }),
  Schema.TaggedStruct("Gone", { origin: Origin }),
  Schema.TaggedStruct("Rotate", { overlapSeconds: Schema.Literals([0, 60, 86_400]) }),
  Schema.TaggedStruct("Pass", { seconds: Schema.Literals([1, 59, 60, 86_400]) }),
  Schema.TaggedStruct("Other", {
    what: Schema.Literals(["success", "unpause", "disable", "enable", "test", "create", "delete"])
  })
])
type Step = typeof Step.Type
const History = Schema.Array(Step).check(Schema.isMaxLength(40))

interface Happened {
  readonly command: EndpointCommand
  readonly at: number
}

/** What docs/platform.md, 6.4 and 7.5 say of an endpoint after a history, found by searching the history. */
const naive = (history: ReadonlyArray<Happened>) => {
  const isCreated = ({ command }: Happened) => command._tag === "Create"
  const lastDelete = history.findLastIndex(({ command }) => command._tag === "Delete")
  const birth = history.findIndex((happened, at) => at > lastDelete && isCreated(happened))
  if (birth === -1) return null
  const life = history.slice(birth)
  // Each asks the other about what was before: what was told once is kept.
  const counts = new Map<number, number>()
  const pauses = new Map<number, boolean>()
  const countAfter = (upTo: number): number => {
    const told = counts.get(upTo) ?? countAnew(upTo)
    counts.set(upTo, told)
    return told
  }
  const pausedAfter = (upTo: number): boolean => {
    const told = pauses.get(upTo) ?? pausedAnew(upTo)
    pauses.set(upTo, told)
    return told
  }
  const countAnew = (upTo: number): number => {
    let count = 0
    const seen = new Set<string>()
    for (const [at, { command }] of life.slice(0, upTo).entries()) {
      if (command._tag === "RecordSuccess") {
        if (count > 0) seen.clear()
        count = 0
      }
      if (command._tag === "Unpause" && pausedAfter(at)) count = 0
      if (command._tag !== "RecordFailure" || command.origin !== "event" || seen.has(command.deliveryId)) continue
      // What was in flight at the pause adds nothing.
      if (pausedAfter(at)) continue
      seen.add(command.deliveryId)
      count++
    }
    return count
  }
  const pausedAnew = (upTo: number): boolean => {
    const lastUnpause = life.slice(0, upTo).findLastIndex(({ command }) => command._tag === "Unpause")
    for (let at = lastUnpause + 1; at < upTo; at++) {
      const { command } = life[at]!
      if (command._tag === "RecordGone" && command.origin === "event") return true
      if (command._tag !== "RecordFailure" || command.origin !== "event") continue
      const isNew = countAfter(at + 1) > countAfter(at)
      if (isNew && (command.status === 410 || countAfter(at + 1) >= 10)) return true
    }
    return false
  }
  const activity = life.findLast(({ command }) => command._tag === "Update" && command.isActive !== undefined)?.command
  return {
    consecutiveFailures: countAfter(life.length),
    isPaused: pausedAfter(life.length),
    isActive: activity?._tag !== "Update" || activity.isActive === true
  }
}

const naiveSecrets = (history: ReadonlyArray<Happened>, now: number): ReadonlyArray<string> => {
  const birth = history.findLastIndex(({ command }) => command._tag === "Create" && command.secretId === "secret_1")
  const rotations = history
    .slice(birth)
    .flatMap(({ at, command }) =>
      command._tag === "RotateSecret" ? [{ id: command.secretId, until: at + command.overlapSeconds * 1000 }] : []
    )
  const ids = ["secret_1", ...rotations.map(({ id }) => id)]
  const isOverlapping = rotations.length > 0 && now < rotations.at(-1)!.until
  return isOverlapping ? [ids.at(-1)!, ids.at(-2)!] : [ids.at(-1)!]
}

const others: Readonly<Record<string, EndpointCommand>> = {
  success,
  unpause,
  disable,
  enable,
  test: requestTest,
  create,
  delete: remove
}

/** Runs the steps; `look` sees the state after each command, with everything that has happened to this endpoint. */
const run = (
  steps: ReadonlyArray<Step>,
  look: (
    state: Endpoint | null,
    history: ReadonlyArray<Happened>,
    now: number,
    made: ReturnType<typeof decideOn>
  ) => void
) => {
  let state: Endpoint | null = null
  let now = noon
  let ids = 0
  const history: Array<Happened> = []
  const tell = (command: EndpointCommand) => {
    const isRepeatedCreate: boolean = command._tag === "Create" && state !== null
    const made = decideOn(state, command, now)
    state = made.state
    if (made.decision.accepted && !isRepeatedCreate) history.push({ command, at: now })
    look(state, history, now, made)
  }
  tell(create)
  for (const step of steps) {
    switch (step._tag) {
      case "Failure":
        tell(failure(`d${step.repeats ? ids : ++ids}`, step.status, step.origin))
        break
      case "Failures":
        for (let count = 0; count < step.count; count++) tell(failure(`d${++ids}`))
        break
      case "Gone":
        tell(gone(step.origin))
        break
      case "Rotate":
        tell(rotate(`secret_${++ids + 1}`, step.overlapSeconds))
        break
      case "Pass":
        now += step.seconds * 1000
        state = wakeBy(state, now)
        break
      case "Other":
        tell(others[step.what]!)
    }
  }
}

const runs = { arbitrary: { runs: often(300) } }

describe("after any history", () => {
  it.prop(
    "counter, pause and activity are what the naive model says",
    [History],
    ([steps]) => {
      run(steps, (state, history) => {
        const expected = naive(history)
        if (state === null || expected === null) return expect(state).toBe(expected)
        const { consecutiveFailures, isActive, paused } = state
        return expect({ consecutiveFailures, isActive, isPaused: paused !== null }).toEqual(expected)
      })
    },
    runs
  )

  it.prop(
    "the secrets that sign are what the naive model says, woken in time or not",
    [History],
    ([steps]) => {
      run(steps, (state, history, now) => {
        if (state !== null) expect(signingSecretIds(state, now)).toEqual(naiveSecrets(history, now))
      })
    },
    runs
  )

  it.prop(
    "events tell of each pause exactly once, and of each fifth failure of an endpoint that is not paused",
    [History],
    ([steps]) => {
      let before: Endpoint | null = null
      run(steps, (state, _history, _now, { decision }) => {
        const isNewlyPaused = state?.paused != null && before?.paused == null
        const fifth = state?.consecutiveFailures === 5 && before?.consecutiveFailures === 4 && before.paused === null
        expect(decision.events.map(({ type }) => type)).toEqual([
          ...(fifth ? ["platform.webhook.failing"] : []),
          ...(isNewlyPaused ? ["platform.webhook.paused"] : [])
        ])
        before = state
      })
    },
    runs
  )

  it.prop(
    "neither test nor manual retry changes anything when it fails, and nothing but the owner unpauses or enables",
    [History],
    ([steps]) => {
      let before: Endpoint | null = null
      run(steps, (state, history, _now, { decision }) => {
        const { command } = history.at(-1)!
        if (before !== null && state !== null) {
          if ((command._tag === "RecordFailure" || command._tag === "RecordGone") && command.origin !== "event")
            expect(decision.facts).toEqual([])
          if (before.paused !== null && state.paused === null) expect(command._tag).toBe("Unpause")
          if (statusOf(before) === "disabled" && statusOf(state) !== "disabled") expect(command).toEqual(enable)
        }
        before = state
      })
    },
    runs
  )

  it.prop(
    "the state is small, and read back from its JSON it is the same",
    [History],
    ([steps]) => {
      run(steps, (state) => {
        const encoded = JSON.stringify(WebhookEndpoint.encodeState(state))
        expect(encoded.length).toBeLessThan(16_384)
        expect(WebhookEndpoint.decodeState(JSON.parse(encoded), 1)).toEqual(state)
      })
    },
    runs
  )
})
