/**
 * Names of files and types, and the beginnings of comments (docs/CONTRIBUTING.md, "Style"): a file is called after its
 * export, by a noun or a verb, and one name means one thing.
 */
import { readdirSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { describe, expect, it } from "vitest"

const root = new URL("../src/", import.meta.url).pathname
const testRoot = new URL("./", import.meta.url).pathname

/** Nouns that end like a gerund. */
const nouns: ReadonlySet<string> = new Set("billing findings settings warnings encodings sending".split(" "))

/** Adjectives that end like a participle, and say enough alone. */
const adjectives: ReadonlySet<string> = new Set("feed seed parked embedded".split(" "))

/** Names that a folder gives their meaning to, in every folder the same. */
const scoped: ReadonlySet<string> = new Set(
  (
    "index errors limits migrations model rows table tables forms rules projection routes config version " +
    "address addresses numbers fields headers failures access connection ports"
  ).split(" ")
)

/** Equal names for the same thing: a command and its act, an API of both audiences, a table that both sides have on purpose. */
const sameThing: ReadonlySet<string> = new Set(
  "consoleApi consoleHttp formats ingest inspect money parkedRecords recover secretsKeys serve server simulate cluster account admission session".split(
    " "
  )
)

/** Words that say nothing about what a type is. */
const vagueTypes =
  /^(?:(?!Mail)\w*Parts|Means|Told|Place|Row|Found|Known|Asked|Given|Said|Wanted|Going|Begun|Waiting|Taken)$/

const wordsOf = (name: string): ReadonlyArray<string> =>
  (name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g) ?? []).map((word) => word.toLowerCase().replace(/s$/, ""))

const namesOf = (source: string, kinds: string): ReadonlyArray<string> => [
  ...new Set(
    [...source.matchAll(new RegExp(`^export (?:declare |abstract |async )*(?:${kinds}) (\\w+)`, "gm"))].map(
      ([, name]) => name!
    )
  )
]
const valuesOf = (source: string) => namesOf(source, "const|class|function")
const typesOf = (source: string) => namesOf(source, "interface|type")

/** Whether two words have a stem of four letters, or all of a shorter one, in common: `carriers` and `carrierOf`. */
const areKin = (one: string, other: string): boolean =>
  one.slice(0, Math.max(4, Math.min(one.length, other.length) - 3)) ===
  other.slice(0, Math.max(4, Math.min(one.length, other.length) - 3))

const faultsOf = (file: string, source: string): ReadonlyArray<string> => {
  const name = basename(file).replace(/\.tsx?$/, "")
  const faults: Array<string> = []
  const words = name.match(/[A-Z]?[a-z]+/g)!.map((word) => word.toLowerCase())
  const last = words.at(-1)!
  const isGerund = last.endsWith("ing") || last.endsWith("ings")
  const isParticiple = words.length === 1 && last.endsWith("ed")
  if ((isGerund && !nouns.has(last)) || (isParticiple && !adjectives.has(last)))
    faults.push(`${file} is named by a gerund or participle`)
  const [main, ...others] = valuesOf(source)
  if (main !== undefined && others.length === 0 && !scoped.has(name) && !/(?:Api|Http)$/.test(name)) {
    const exported = [main, ...typesOf(source)].flatMap(wordsOf)
    const isConvention = /^(?:make|layer)$/.test(main)
    if (!isConvention && !wordsOf(name).some((word) => exported.some((one) => areKin(one, word))))
      faults.push(`${file} is not named after its export, ${main}`)
  }
  for (const type of namesOf(source, "interface|type|class"))
    if (vagueTypes.test(type)) faults.push(`${file} exports a type called ${type}`)
  return faults
}

const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter(
  (file) => /\.tsx?$/.test(file) && !file.endsWith(".d.ts")
)

/** A comment that defines by a relative clause: `/** What …`. */
const relative = /(?:\/\*\*|^ *\*|\/\/) (?:What|Whatever|Who|Whoever|Those that) .*$/m

/** The first lines of comments that define by a relative clause. */
const relativesIn = (source: string): ReadonlyArray<string> =>
  [...source.matchAll(new RegExp(relative.source, "gm"))].map(([line]) => line.trim())

describe("comments", () => {
  it("of the program begin with a noun or a verb, as the headers of tests do", () => {
    const program = files.flatMap((file) => relativesIn(readFileSync(join(root, file), "utf8")))
    const tests = readdirSync(testRoot, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"))
    const headers = tests.flatMap((file) =>
      relativesIn(readFileSync(join(testRoot, file), "utf8").split("\n", 2).join("\n")).map(
        (line) => `${file}: ${line}`
      )
    )
    expect([...program, ...headers]).toEqual([])
  })

  it("are checked in every place of a line", () => {
    const source =
      "/** What it is. */\n/**\n * Whoever asks.\n */\nconst a = 1 // Those that wait go.\n/** A place. */\n"
    expect(relativesIn(source)).toHaveLength(3)
  })
})

describe("names", () => {
  it("of files say what they export, and types what they are", () => {
    expect(files.length).toBeGreaterThan(300)
    expect(files.flatMap((file) => faultsOf(file, readFileSync(join(root, file), "utf8")))).toEqual([])
  })

  it("of files mean one thing", () => {
    // The console is a program of its own.
    const own = files.filter((file) => !file.startsWith("console/"))
    const byName = Map.groupBy(own, (file) => basename(file).replace(/\.tsx?$/, ""))
    const repeated = [...byName].filter(([name, all]) => all.length > 1 && !scoped.has(name) && !sameThing.has(name))
    expect(repeated.map(([, all]) => all.join(" and "))).toEqual([])
  })

  it.each([
    ["admitting.ts", "export const admit = 1", "admitting.ts is named by a gerund or participle"],
    ["together.ts", "export const claim = 1", "together.ts is not named after its export, claim"],
    [
      "loader.ts",
      "export const load = 1\nexport interface LoaderParts {}",
      "loader.ts exports a type called LoaderParts"
    ]
  ])("report %s", (file, source, fault) => {
    expect(faultsOf(file, source)).toEqual([fault])
  })
})
