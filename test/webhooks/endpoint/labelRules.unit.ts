/** Labels of endpoints (docs/platform.md, 6.13), and what a caller that sees one label alone may know and do (6.14). */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { formatLevels } from "../../../src/common/formatLevels.ts"
import { Engine, layerMemory } from "../../../src/engine/Engine.ts"
import { labelFault, maximumLabelLength, maximumPortalEndpoints } from "../../../src/webhooks/endpoint/label.ts"
import type { EndpointCommand } from "../../../src/webhooks/endpoint/model.ts"
import { labelLevelProblem, WebhookEndpoint, WebhookEndpoints } from "../../../src/webhooks/endpoint/rules.ts"
import {
  create,
  endpointId,
  failure,
  given,
  gone,
  noon,
  remove,
  requestTest,
  rotate,
  success,
  unpause,
  update
} from "./endpoints.ts"

const labelled = { ...create, label: "ann" }

describe("a label", () => {
  it("[platform 6.13] is 1 to 128 letters, digits and a few signs", () => {
    for (const label of ["a", "customer-17", "Ann.B_c:d@e.example", "x".repeat(maximumLabelLength)])
      expect(labelFault(label), label).toBeUndefined()
    for (const label of ["", " ", "a b", "a/b", "ä", "a\n", "x".repeat(maximumLabelLength + 1)])
      expect(labelFault(label), label).toContain("1 to 128")
  })

  it("is set, changed and removed, and a wrong one changes nothing", () => {
    given(labelled).when({ _tag: "Get" }).thenIt({ label: "ann" })
    given(create)
      .when(update({ label: "ben" }))
      .thenFacts("Updated")
      .thenIt({ label: "ben" })
    given(labelled)
      .when(update({ label: null }))
      .thenIt({ label: null })
    given(labelled)
      .when(update({ label: "ann" }))
      .thenFacts()
    given(create)
      .when(update({ label: null }))
      .thenFacts()
    given(labelled)
      .when(update({ label: "a b" }))
      .thenRejected({ _tag: "EndpointInvalid", field: "label" })
  })

  it("waits until every node knows labels", () => {
    expect(labelLevelProblem(formatLevels.endpointLabels)).toBeUndefined()
    expect(labelLevelProblem(formatLevels.endpointLabels - 1)).toMatchObject({ field: "label" })
  })
})

describe("a caller that sees one label alone", () => {
  const asked: ReadonlyArray<EndpointCommand> = [
    { _tag: "Get" },
    remove,
    unpause,
    requestTest,
    rotate("secret_2"),
    update({ description: "mine now" }),
    { _tag: "RequestReplay", replayId: "rpl_1", since: noon, until: null, types: null }
  ]

  it("[platform 6.14] is told that endpoints of another label, or of none, do not exist", () => {
    for (const command of asked)
      for (const state of [labelled, create])
        given(state)
          .when({ ...command, livemode: true, onlyLabel: "ben" } as EndpointCommand)
          .thenRejected({ _tag: "EndpointNotFound", endpointId })
  })

  it("reads and changes those of its label", () => {
    given(labelled).when({ _tag: "Get", onlyLabel: "ann" }).thenFacts()
    given(labelled)
      .when({ ...update({ description: "mine" }), onlyLabel: "ann" })
      .thenIt({ description: "mine", label: "ann" })
    given(labelled)
      .when({ ...remove, onlyLabel: "ann" })
      .thenFacts("Deleted")
  })

  it("neither changes nor removes the label", () => {
    for (const label of ["ben", null])
      given(labelled)
        .when({ ...update({ label }), onlyLabel: "ann" })
        .thenRejected({ _tag: "EndpointInvalid", field: "label" })
    given(labelled)
      .when({ ...update({ label: "ann" }), onlyLabel: "ann" })
      .thenFacts()
  })

  it("makes endpoints of its label, and of no other", () => {
    given({ ...create, onlyLabel: "ann" })
      .when({ _tag: "Get" })
      .thenIt({ label: "ann" })
    expect(given({ ...create, label: "ben", onlyLabel: "ann" }).state).toBeNull()
  })

  it("does not keep outcomes of deliveries from being recorded", () => {
    for (const command of [success, failure("d1"), gone()]) given(labelled).when(command).thenIt({ label: "ann" })
  })
})

describe("the list of an organization", () => {
  const organization = "org_1"
  const memory = layerMemory({ actors: [WebhookEndpoint, WebhookEndpoints] })
  const ask = (key: string, command: EndpointCommand) =>
    Effect.flatMap(Effect.service(Engine), (engine) => engine.ask(WebhookEndpoint, { organization, key }, command))
  const list = Effect.flatMap(Effect.service(Engine), (engine) =>
    engine.ask(WebhookEndpoints, { organization }, { _tag: "List" as const })
  )

  it.effect("knows the labels of its endpoints, as they are set, changed, removed and deleted", () =>
    Effect.gen(function* () {
      yield* ask("we_1", labelled)
      yield* ask("we_2", { ...create, secretId: "secret_2" })
      expect(yield* list).toEqual({ endpointIds: ["we_1", "we_2"], labels: { we_1: "ann" } })
      yield* ask("we_2", update({ label: "ben" }))
      expect(yield* list).toEqual({ endpointIds: ["we_1", "we_2"], labels: { we_1: "ann", we_2: "ben" } })
      yield* ask("we_1", update({ label: null }))
      yield* ask("we_2", remove)
      expect(yield* list).toEqual({ endpointIds: ["we_1"] })
    }).pipe(Effect.provide(memory))
  )

  it.effect("has room for ten endpoints that callers of one label make, also when all are asked for concurrently", () =>
    Effect.gen(function* () {
      const making = (label: string) =>
        Effect.forEach(
          Array.from({ length: maximumPortalEndpoints + 5 }, (_, at) => `we_${label}_${at}`),
          (key) => Effect.result(ask(key, { ...create, secretId: `secret_of_${key}`, onlyLabel: label })),
          { concurrency: "unbounded" }
        )
      const made = yield* making("ann")
      expect(made.filter(({ _tag }) => _tag === "Success").length).toBe(maximumPortalEndpoints)
      expect(yield* Effect.flip(ask("we_new", { ...create, onlyLabel: "ann" }))).toMatchObject({
        _tag: "TooManyEndpoints",
        maximum: maximumPortalEndpoints,
        label: "ann"
      })
      // Another customer has places of its own, and the organization itself is not bound.
      const others = yield* making("ben")
      expect(others.filter(({ _tag }) => _tag === "Success").length).toBe(maximumPortalEndpoints)
      yield* ask("we_own", labelled)
    }).pipe(Effect.provide(memory))
  )
})
