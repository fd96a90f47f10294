/**
 * Every numbered section of the documents with promises to callers has a test that carries its tag, such as "[platform 4.1]", and every
 * tag names a section that exists. A tag counts in the title of a test or of a group, and nowhere else.
 */
import { readdirSync, readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { type ESTree, parseSync, Visitor } from "rolldown/utils"

const promising = ["platform", "directory", "send"]
const documents = [...promising, "handoff"]

const docs = new URL("../docs/", import.meta.url)
const names = readdirSync(docs, { recursive: true, encoding: "utf8" })

/** The text of a document: its file, and those of the folder of its name. */
const textOf = (document: string): string =>
  names
    .filter((name) => name === `${document}.md` || (name.startsWith(`${document}/`) && name.endsWith(".md")))
    .map((name) => readFileSync(new URL(name, docs), "utf8"))
    .join("\n")

const sections = documents.flatMap((document) => {
  const text = textOf(document)
  return [...text.matchAll(/^##+ (\d+(?:\.\d+)?)\.? /gm)].map(([, number]) => `${document} ${number}`)
})

/** A chapter promises by its sections where it has some. */
const promises = sections.filter(
  (section) => promising.includes(section.split(" ")[0]!) && !sections.some((other) => other.startsWith(`${section}.`))
)

/** The name at the front of a call: `it` of `it.effect.each(table)(title)`. */
const calledName = (node: ESTree.Expression | ESTree.Super): string | undefined => {
  if (node.type === "Identifier") return node.name
  if (node.type === "MemberExpression") return calledName(node.object)
  if (node.type === "CallExpression") return calledName(node.callee)
  return node.type === "TaggedTemplateExpression" ? calledName(node.tag) : undefined
}

/** The sections that the titles of a source name. */
const taggedIn = (source: string): ReadonlyArray<string> => {
  const tagged: Array<string> = []
  const CallExpression = ({ arguments: [title], callee }: ESTree.CallExpression) => {
    if (title === undefined || !/^(describe|it|layer|test)$/.test(calledName(callee) ?? "")) return
    const text = source.slice(title.start, title.end)
    if (!/^["`]/.test(text)) return
    for (const [, document, numbers] of text.matchAll(/\[(\w+) (\d[\d.]*(?:, \d[\d.]*)*)\]/g))
      tagged.push(...numbers!.split(", ").map((number) => `${document} ${number}`))
  }
  // Few files have a tag, and to parse takes most of the time.
  if (/\[\w+ \d/.test(source)) new Visitor({ CallExpression }).visit(parseSync("test.ts", source).program)
  return tagged
}

const files = readdirSync(new URL(".", import.meta.url), { recursive: true, encoding: "utf8" })
const sources = files.filter((file) => file.endsWith(".ts") && !import.meta.url.endsWith(file))
const tags = new Set(sources.flatMap((file) => taggedIn(readFileSync(new URL(file, import.meta.url), "utf8"))))

describe("sections of documents", () => {
  it("have a test each", () => expect(promises.filter((section) => !tags.has(section))).toEqual([]))
  it("exist where a test names them", () => expect([...tags].filter((tag) => !sections.includes(tag))).toEqual([]))
  it("are named by titles alone", () => {
    expect(taggedIn('it.each(table)("[send 1.1, 2] [a 3] b", f)')).toEqual(["send 1.1", "send 2", "a 3"])
    expect(
      taggedIn('// it("[send 1.1] a")\nconst text = "[send 1.1]"\nget("[send 1.1]")\nit(name, "[send 1.1]")')
    ).toEqual([])
  })
})
