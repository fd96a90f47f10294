/** Variants of billing, usage, sites, talk, lists and the console. */
import type { Variant } from "./runner/variant.ts"

export const others: ReadonlyArray<Variant> = [
  {
    name: "billing: amounts have two digits",
    find: "digitsByCode.get(currency.toLowerCase()) ?? 2",
    replace: "digitsByCode.get(currency) ?? 2",
    sentence: "an amount in yen is shown a hundredth as large where its currency is written in capitals",
    finders: ["money.unit"]
  },
  {
    name: "logs: what was left out is told again",
    find: "window.leftOut = 0",
    replace: "",
    sentence: "lines that were left out are counted in each window anew",
    finders: ["LogSampler.unit"]
  },
  {
    name: "console: what has failed is well while an older answer is shown",
    find: "sources.some(({ error }) => error !== undefined)",
    replace: "sources.some(({ data, error }) => error !== undefined && data === undefined)",
    sentence: "the console says that all is well while the platform cannot be reached",
    finders: ["knowledge.unit"]
  },
  {
    name: "billing: a checkout can be paid again",
    find: 'if (checkout.state !== "open") return draft.decided(id)',
    replace: 'if (checkout.state === "submitted") return draft.decided(id)',
    sentence: "a customer who presses the button twice pays twice",
    finders: ["billing/rules.unit"]
  },
  {
    name: "usage: counts whose outcome is not known get another key",
    find: "if (this.waiting.has(organization)) continue",
    replace:
      "const earlier = this.waiting.get(organization); if (earlier !== undefined) { this.waiting.set(organization, { ...earlier, key: newKey() }); continue }",
    sentence: "calls that were stored although the answer was lost are counted twice",
    finders: ["counting.unit"]
  },
  {
    name: "usage: contents go with their email's end",
    find: "hourOf(fact.at + keptContentMillis)",
    replace: "hourOf(fact.at)",
    sentence: "contents that are kept for seven days more are not counted",
    finders: ["counting.unit"]
  },
  {
    name: "sites: a credential has no rate",
    find: "if (!decision.allowed) return yield* Effect.fail(refusals.rateLimited",
    replace: "if (decision === null) return yield* Effect.fail(refusals.rateLimited",
    sentence: "a site's loop keeps the database busy for everybody",
    finders: ["usage.it"]
  },
  {
    name: "talk: the key follows a redirect",
    find: 'Layer.succeed(FetchHttpClient.RequestInit, { redirect: "manual" })',
    replace: 'Layer.succeed(FetchHttpClient.RequestInit, { redirect: "follow" })',
    sentence: "whoever takes the service's name over gets key and texts",
    finders: ["upstreamHttp.it"]
  },
  {
    name: "console: a cookie counts without its header",
    find: "if (headers[consoleHeader] === undefined) return undefined",
    replace: "",
    sentence: "a page of another site acts for who is signed in",
    finders: ["consoleCookie.unit"]
  },
  {
    name: "console: a session's text is a key",
    find: '(text.startsWith(sessionPrefix) ? "" : text)',
    replace: "text",
    sentence: "what stands in a cookie opens the API from anywhere",
    finders: ["consoleCookie.unit"]
  },
  {
    name: "usage: counts are overwritten while the log is away",
    find: "if (this.waiting.has(organization)) continue",
    replace: "",
    sentence: "calls that were made while the log was away are never counted",
    finders: ["counting.unit", "usage.it"]
  },
  {
    name: "lists: a test key sees live events",
    find: 'mode === "live" ? "(values (true), (false))" : "(values (false))"',
    replace: 'mode === "live" ? "(values (true), (false))" : "(values (true), (false))"',
    sentence: "a key of test mode lists what live keys have caused",
    finders: ["eventLog.it"]
  },
  {
    name: "lists: a cursor is good for another object",
    find: "...(object === undefined ? [] : [`about ${object}`])",
    replace: "",
    sentence: "a page goes on in the middle of another list, without an error",
    finders: ["eventLog.it"]
  },
  {
    name: "lists: a total at its bound says that it is exact",
    find: "row!.count <= maximumTotal",
    replace: "row!.count <= maximumTotal + 1",
    sentence: "a list of a million items is said to have ten thousand",
    finders: ["eventLog.it"]
  },
  {
    name: "lists: the domain of an address is the address",
    find: "change.domain = domainOf(fact.sender)",
    replace: "change.domain = fact.sender",
    sentence: "emails of an address are not found by its domain",
    finders: ["emails/projection.it"]
  }
]
