/** `openapi.json` as tools of others read it: linters, and generators of clients and pages. */
import { createConfig, lintFromString } from "@redocly/openapi-core"
import { describe, expect, it } from "vitest"
import { operationExamples } from "../../src/api/describeExamples.ts"
import { openApiText } from "../../src/api/openApiText.ts"

interface Content {
  readonly schema: { readonly format?: string }
  readonly example?: unknown
  readonly examples?: object
}

interface Operation {
  readonly operationId: string
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Content>> }>>
}

const text = openApiText()
const document = JSON.parse(text) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly webhooks: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}
const inPaths = Object.values(document.paths).flatMap((path) => Object.values(path))
const operations = [...inPaths, ...Object.values(document.webhooks).flatMap((path) => Object.values(path))]

describe("openapi.json", () => {
  it("has no error and no warning under a linter's recommended rules, which check every example too", async () => {
    const config = await createConfig({ extends: ["recommended"] })
    const problems = await lintFromString({ source: text, absoluteRef: "openapi.json", config })
    expect(problems.map(({ location, message }) => `${location[0]?.pointer} ${message}`)).toEqual([])
  })

  it("has an example of every body, answer and error", () => {
    const missing = operations.flatMap(({ operationId, requestBody, responses }) =>
      [["body", requestBody] as const, ...Object.entries(responses)].flatMap(([name, one]) =>
        Object.values(one?.content ?? {})
          .filter(({ example, examples }) => (example ?? examples) === undefined)
          .map(() => `${operationId} ${name}`)
      )
    )
    expect(missing).toEqual([])
  })

  it("takes no example for an operation that it does not have", () => {
    const known = inPaths.map(({ operationId }) => operationId)
    expect(Object.keys(operationExamples()).filter((id) => !known.includes(id))).toEqual([])
  })

  it("has names that are names in any language", () => {
    const ids = operations.map(({ operationId }) => operationId)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.filter((id) => !/^[a-z][a-zA-Z]*\.[a-z][a-zA-Z]*$/.test(id))).toEqual([])
    expect(Object.keys(document.components.schemas).filter((name) => !/^[A-Z][a-zA-Z]*$/.test(name))).toEqual([])
  })
})
