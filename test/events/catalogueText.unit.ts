/** The catalogue in the documentation is the catalogue in the code: every type, field and example, and nothing else. */
import { describe, expect, it } from "vitest"
import { openApiText } from "../../src/api/openApiText.ts"
import { catalogueText } from "../../src/events/eventsApi.ts"
import { type CataloguedType, catalogue, checkData } from "../../src/events/index.ts"

const sections = new Map(
  catalogueText()
    .split(/^### /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf("\n")).replaceAll("`", ""), section])
)

/** Names of fields, those of objects inside with their path. */
const pathsOf = (value: object, prefix = ""): ReadonlyArray<string> =>
  Object.entries(value).flatMap(([name, inner]) => [
    `${prefix}${name}`,
    ...(typeof inner === "object" && inner !== null && !Array.isArray(inner) ? pathsOf(inner, `${prefix}${name}.`) : [])
  ])

describe("the catalogue in the documentation", () => {
  it("is part of openapi.json", () => {
    const { tags } = JSON.parse(openApiText()) as {
      readonly tags: ReadonlyArray<{ readonly name: string; readonly description: string }>
    }
    expect(tags.find(({ name }) => name === "Events")?.description).toContain(catalogueText())
  })

  it("has the types of the catalogue", () => {
    expect([...sections.keys()]).toEqual(Object.keys(catalogue))
  })

  it.each(Object.keys(catalogue) as ReadonlyArray<CataloguedType>)("says of %s what it is", (type) => {
    const section = sections.get(type)!
    const { description, example, service } = catalogue[type]
    expect(section).toContain(`${description}. Service \`${service}\`.`)
    const fields = [...section.matchAll(/^\| `([^`]+)` \| (.+?) \|/gm)].map(([, name, shown]) => [name, shown])
    expect(fields.map(([name]) => name)).toEqual(pathsOf(example))
    for (const [name, shown] of fields) expect(shown, name).not.toContain("any")
    const shown: unknown = JSON.parse(/```json\n([\s\S]+?)\n```/.exec(section)![1]!)
    expect(checkData(type, shown)).toEqual(example)
  })

  it.each([
    ["telco.lookup.completed", "tn", "string"],
    ["telco.lookup.completed", "hasCarrier", "boolean"],
    ["telco.search.completed", "source", "`npanxx` or `inventory`"],
    ["telco.search.completed", "filters.state", "string or null"],
    ["send.email.sent", "to", "string[]"],
    ["platform.webhook.paused", "consecutive_failures", "integer"]
  ])("%s: %s is %s", (type, field, shown) => {
    expect(sections.get(type)).toContain(`| \`${field}\` | ${shown} |`)
  })
})
