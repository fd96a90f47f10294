/** The documentation's operations and samples (docs/platform.md, 12.7), made from the committed description. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { type ApiDescription, fits, groupsOf, type Operation } from "../../src/console/docs/description.ts"
import { exampleOf, pathOf, samplesOf } from "../../src/console/docs/samples.ts"

const api = JSON.parse(readFileSync(new URL("../../openapi.json", import.meta.url), "utf8")) as ApiDescription
const groups = groupsOf(api)
const operations = groups.flatMap((group) => group.operations)
const send = operations.find(({ path }) => path === "/v1/send/emails")!

const sampleOf = (operation: Operation, body: string, language: string): string =>
  samplesOf(operation, { base: "http://127.0.0.1:8080", path: operation.path, body }).find(
    ([one]) => one === language
  )![1]

describe("[platform 12.7] the operations", () => {
  it("are in groups, email first, each request and each event once", () => {
    expect(groups.slice(0, 2).map(({ name }) => name)).toEqual(["Emails", "Send: domains"])
    const titles = groups.flatMap(({ name, operations: all }) =>
      all.map(({ method, title }) => `${name} ${method} ${title}`)
    )
    expect(new Set(titles).size).toBe(titles.length)
    expect(operations.map(({ path }) => path)).toEqual(expect.arrayContaining(["/v1/health", "send.email.sent"]))
    expect(operations.filter(({ path }) => path === "/health" || path === "/v1/send/emails/send")).toEqual([])
    expect(operations.filter(({ description }) => description === "")).toEqual([])
  })

  it("have an example for each body", () => {
    expect(operations.filter(({ body }) => body !== undefined && body.examples.length === 0)).toEqual([])
  })

  it("are found by all words of a search", () => {
    expect(operations.filter((one) => fits(one, "send POST emails")).map(({ path }) => path)).toContain(
      "/v1/send/emails"
    )
    expect(operations.filter((one) => fits(one, "no such words"))).toEqual([])
  })

  it("have a path with what was filled in, and no empty parameter", () => {
    const one = operations.find(({ path }) => path === "/v1/events/{id}")!
    expect(pathOf(one, { "path id": "a/b" })).toBe("/v1/events/a%2Fb")
    expect(pathOf(one, {})).toBe("/v1/events/{id}")
    expect(one.parameters.map(exampleOf)).toEqual(["{id}"])
    const list = operations.find(({ path }) => path === "/v1/events")!
    expect(pathOf(list, { "query type": "a&b", "query limit": "" })).toBe("/v1/events?type=a%26b")
  })
})

describe("[platform 12.7] the samples", () => {
  const body = JSON.stringify({ subject: `It's "$HOME" \`id\` \\ \${1}`, text: "Grüße\n" }, null, 2)
  const url = "http://127.0.0.1:8080/v1/send/emails"

  it("for curl give the shell what was written", () => {
    const shown = execFileSync("sh", ["-c", `curl() { printf '%s\\0' "$@"; }\n${sampleOf(send, body, "curl")}`], {
      env: { SLUICE_API_KEY: "sk_test_1" },
      encoding: "utf8"
    })
    expect(shown.split("\0")).toEqual([
      "-X",
      "POST",
      url,
      "-H",
      "Authorization: Bearer sk_test_1",
      "-H",
      "Content-Type: application/json",
      "-d",
      body,
      ""
    ])
  })

  it("for Node send what was written", async () => {
    let asked: readonly [string, RequestInit] | undefined
    const fetched = async (to: string, init: RequestInit) => {
      asked = [to, init]
      return new Response("")
    }
    const run = new Function("fetch", "process", "console", `return (async () => {${sampleOf(send, body, "Node")}})()`)
    await run(fetched, { env: { SLUICE_API_KEY: "sk_test_1" } }, { log: () => {} })
    expect(asked![0]).toBe(url)
    expect(asked![1]).toMatchObject({
      method: "POST",
      headers: { Authorization: "Bearer sk_test_1", "Content-Type": "application/json" }
    })
    expect(JSON.parse(asked![1].body as string)).toEqual(JSON.parse(body))
  })

  it("have no key where none is needed, and no body where there is none", () => {
    const health = operations.find(({ path }) => path === "/v1/health")!
    for (const language of ["curl", "Node", "Python"]) {
      const text = sampleOf(health, "", language)
      expect(text).not.toMatch(/SLUICE_API_KEY|Content-Type/)
      expect(text).toContain("http://127.0.0.1:8080/v1/health")
    }
  })
})
