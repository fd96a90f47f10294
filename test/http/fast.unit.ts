/** Parts of the fast lane by themselves: which targets it takes and keeps, and what is counted of a request. */
import { Context, Metric, Schema } from "effect"
import { HttpApiEndpoint } from "effect/http-api"
import { describe, expect, it } from "vitest"
import { RecentlyUsed } from "../../src/common/RecentlyUsed.ts"
import { Targets } from "../../src/http/fast/Targets.ts"
import { integerParameter } from "../../src/http/parameters.ts"
import { RequestMeter } from "../../src/http/RequestMeter.ts"
import { makeRequestState } from "../../src/http/RequestState.ts"

describe("targets", () => {
  const endpoint = HttpApiEndpoint.get("thing", "/things/:id", {
    params: { id: Schema.String.check(Schema.isPattern(/^[a-z]+$/)) },
    query: { limit: Schema.optional(integerParameter(1, 10)), apiKind: Schema.optional(Schema.String) }
  }) as unknown as HttpApiEndpoint.Top
  const make = () => {
    const targets = new Targets<string>("GET", { caseSensitive: true })
    targets.add("/things/:id", endpoint, "thing", { params: undefined, query: undefined })
    targets.addUnknown("/things/special")
    return targets
  }

  it("are decoded by the endpoint's schemas, once", () => {
    const targets = make()
    const first = targets.find("/things/abc?limit=5")
    expect(first).toEqual({ route: "thing", input: { params: { id: "abc" }, query: { limit: 5 } } })
    expect(targets.find("/things/abc?limit=5")).toBe(first)
    expect(targets.find("/things/abc")?.input.query).toEqual({})
  })

  it.each([
    ["another route of the server", "/things/special"],
    ["no route", "/nothing"],
    ["a path that does not decode", "/things/ABC"],
    ["a query that does not decode", "/things/abc?limit=11"],
    ["a repeated parameter", "/things/abc?limit=1&limit=2"],
    ["a percent escape", "/things/a%62c"],
    ["a semicolon", "/things/abc;limit=1"],
    ["a fragment", "/things/abc#x"],
    ["a whole address", "http://localhost/things/abc"],
    ["a long one", `/things/${"a".repeat(300)}`]
  ])("are left to the general path: %s", (_, target) => {
    expect(make().find(target)).toBeUndefined()
  })

  it.each([
    "apiKey",
    "apikey",
    "APIKEY",
    "api_key",
    "key",
    "__proto__"
  ])("with a parameter that the endpoint does not know are left, so that no key is kept: %s", (name) => {
    const targets = make()
    expect(targets.find(`/things/abc?${name}=sk_live_secret`)).toBeUndefined()
    expect(targets.find(`/things/abc?limit=1&${name}=sk_live_secret`)).toBeUndefined()
    expect(JSON.stringify(targets)).not.toContain("secret")
  })
})

describe("what is kept while it is asked for", () => {
  it("stays within its bound, and is what was asked for last", () => {
    const kept = new RecentlyUsed<number>(100)
    for (let at = 0; at < 1_000; at++) {
      if (kept.get("often") === undefined) kept.set("often", -1, 5)
      kept.set(`${at}`, at, 5)
      expect(kept.cost).toBeLessThanOrEqual(100)
    }
    expect(kept.get("often")).toBe(-1)
    expect(kept.get("999")).toBe(999)
    expect(kept.get("1")).toBeUndefined()
    kept.set("large", 0, 51)
    expect(kept.get("large")).toBeUndefined()
  })
})

describe("the meter of requests", () => {
  const context = () => Context.make(Metric.MetricRegistry, new Map())
  const shown = (of: Context.Context<never>) =>
    Metric.snapshotUnsafe(of).map(({ attributes, id, state }) => ({ id, attributes, state }))

  it("shows each answer at once, by route, method and status, and its time in the right class", () => {
    const registry = context()
    const reads = RequestMeter.of(registry).series("GET", "/a")
    expect(shown(registry)).toEqual([])
    reads.add(200, 0.0005)
    reads.add(200, 0.001)
    reads.add(404, 20)
    RequestMeter.of(registry).series("POST", "/a").add(201, 0.03)
    const metrics = shown(registry)
    const total = (method: string, status: string) =>
      metrics.find(({ attributes }) => attributes?.method === method && attributes.status === status)?.state
    expect(total("GET", "200")).toEqual({ count: 2, incremental: true })
    expect(total("GET", "404")).toEqual({ count: 1, incremental: true })
    expect(total("POST", "201")).toEqual({ count: 1, incremental: true })
    const [durations, ...others] = metrics.filter(({ id }) => id === "sluice_http_request_duration_seconds")
    expect(others).toEqual([])
    const state = durations!.state as Metric.HistogramState
    expect(state).toMatchObject({ count: 4, min: 0.0005, max: 20 })
    expect(state.sum).toBeCloseTo(20.0315)
    const below = new Map(state.buckets)
    expect([below.get(0.001), below.get(0.025), below.get(0.05), below.get(10)]).toEqual([2, 2, 3, 3])
  })

  it("is one for all servers of a registry", () => {
    const registry = context()
    expect(RequestMeter.of(registry)).toBe(RequestMeter.of(registry))
    expect(RequestMeter.of(context())).not.toBe(RequestMeter.of(registry))
  })
})

describe("a request id", () => {
  it.each(["a", "abc.DEF_1:2-3", "a".repeat(128)])("is the caller's where it is well-formed: %s", (given) => {
    expect(makeRequestState(given).requestId).toBe(given)
  })

  it.each([undefined, "", "two words", "a\nb", "a".repeat(129), ["a", "b"]])("is made else: %j", (given) => {
    expect(makeRequestState(given).requestId).toMatch(/^req_[0-9a-f-]{36}$/)
  })
})
