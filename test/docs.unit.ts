/**
 * The documents and what cites them stay together: comments cite documents and sections that exist and files that are there, links lead
 * somewhere, and the table of packages agrees with package.json. Each check is also shown a planted fault.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, expect, it } from "@effect/vitest"

const root = new URL("..", import.meta.url).pathname

const filesUnder = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length))

const read = (file: string): string => readFileSync(join(root, file), "utf8")

const documents = filesUnder("docs").filter((file) => file.endsWith(".md"))
const sources = [...filesUnder("src"), ...filesUnder("test")].filter((file) => file.endsWith(".ts"))
const sourceNames = new Set(sources.map((file) => file.slice(file.lastIndexOf("/") + 1)))

/** What a document can be cited by: numbers and titles of its sections, and `rule N` for a numbered list under "Rules". */
const placesOf = (text: string): ReadonlySet<string> => {
  const places = new Set<string>()
  for (const [, title] of text.matchAll(/^#+ (.+)$/gm)) {
    places.add(`"${title}"`)
    const number = /^(\d+(?:\.\d+)?)\.? /.exec(title!)?.[1]
    if (number !== undefined) places.add(number)
  }
  const rules = /^## Rules$([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(text)?.[1] ?? ""
  for (const [, number] of rules.matchAll(/^(\d+)\. /gm)) places.add(`rule ${number}`)
  return places
}

/** The files of a document: its own, and those of the folder of its name, among which its sections are shared out. */
const filesOf = (document: string): ReadonlyArray<string> =>
  documents.filter((file) => file === document || file.startsWith(`${document.slice(0, -".md".length)}/`))

/** The document that a file is a part of. */
const documentOf = (file: string): string =>
  documents.find((document) => document !== file && filesOf(document).includes(file)) ?? file

const places = new Map(documents.map((file) => [file, placesOf(filesOf(file).map(read).join("\n"))]))

/** The text of a source on one line, so that a citation may be wrapped. */
const unwrapped = (source: string): string => source.replace(/\n\s*(?:\*(?!\/)|\/\/) ?/g, " ").replace(/ {2,}/g, " ")

const number = String.raw`\d+(?:\.\d+)?`
const list = (item: string) => `${item}(?:(?:, and |, | and | to )${item})*`
const cited = new RegExp(
  String.raw`(docs/[\w-]+\.md)(?:, ((?:rules? )?${list(number)}|${list('"[^"]+"')}))?(?: and (rule \d+))?`,
  "g"
)

/** The places that a citation names, one by one; both ends of `6.4 to 6.8`. */
const placesNamed = (text: string | undefined): ReadonlyArray<string> => {
  if (text === undefined) return []
  if (text.startsWith('"')) return text.match(/"[^"]+"/g) ?? []
  const numbers = text.match(new RegExp(number, "g")) ?? []
  return text.startsWith("rule") ? numbers.map((one) => `rule ${one}`) : numbers
}

/** Citations of documents, or of places in them, that do not exist. */
const deadCitations = (source: string): ReadonlyArray<string> =>
  [...unwrapped(source).matchAll(cited)].flatMap(([, file, named, rule]) => {
    const known = places.get(file!)
    if (known === undefined) return [file!]
    return [...placesNamed(named), ...placesNamed(rule)]
      .filter((place) => !known.has(place))
      .map((place) => `${file}, ${place}`)
  })

/** Source files, as comments name them in backticks, that do not exist. */
const deadFiles = (source: string): ReadonlyArray<string> =>
  source
    .split("\n")
    .filter((line) => /^\s*(?:\/\*|\*|\/\/)/.test(line))
    .flatMap((line) => [...line.matchAll(/`(?:[\w-]+\/)*([\w-]+(?:\.\w+)*\.ts)`/g)].map(([, name]) => name!))
    .filter((name) => !sourceNames.has(name))

const slugOf = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-")

/** Links of a document that lead nowhere, its references to sections of its own, and those to sections of a linked document. */
const deadLinks = (file: string, text: string): ReadonlyArray<string> => {
  const prose = text.replace(/^```[\s\S]*?^```/gm, "")
  const links = [...prose.matchAll(/\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]+))?\)/g)].flatMap(
    ([, path, anchor]) => {
      const target = path === "" ? file : join(dirname(file), path!)
      if (path !== "" && !existsSync(join(root, target))) return [path!]
      const titles =
        anchor === undefined
          ? []
          : [...(path === "" ? text : read(target)).matchAll(/^#+ (.+)$/gm)].map(([, title]) => slugOf(title!))
      return anchor === undefined || titles.includes(anchor) ? [] : [`${path}#${anchor}`]
    }
  )
  const elsewhere = [
    ...prose.matchAll(new RegExp(String.raw`\]\(([\w./-]+\.md)\), (rules? \d+|${list(number)})`, "g"))
  ].flatMap(([, path, named]) => {
    const known = places.get(join(dirname(file), path!))
    return placesNamed(named)
      .filter((place) => known?.has(place) !== true)
      .map((place) => `${path}, ${place}`)
  })
  const own = places.get(documentOf(file)) ?? placesOf(text)
  const here = [...prose.matchAll(/\((\d\.\d(?:, \d\.\d)*)\)/g)]
    .flatMap(([, named]) => placesNamed(named))
    .filter((place) => !own.has(place))
  return [...links, ...elsewhere, ...here]
}

interface Manifest {
  readonly [group: `${string}ependencies`]: Readonly<Record<string, string>>
}

/** What the table of packages in docs/architecture.md says that the manifest does not: packages it lacks, versions that no package of the row has. */
const wrongPackages = (document: string, manifest: Manifest): ReadonlyArray<string> => {
  const versions: Readonly<Record<string, string>> = {
    ...manifest.peerDependencies,
    ...manifest.devDependencies,
    ...manifest.optionalDependencies,
    ...manifest.dependencies
  }
  const table = /^## What the packages are today$([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(document)?.[1] ?? ""
  const rows = [...table.matchAll(/^\| [^|]+ \| ([^|]+) \| (.+) \|$/gm)].slice(1)
  if (rows.length === 0) return ["there is no table of packages"]
  return rows.flatMap(([row, today, used]) => {
    const text = `${today} ${used}`
    const scoped = [...text.matchAll(/@[\w-]+\/[\w-]+(?![\w-]*\*)/g)].map(([name]) => name)
    const plain = [...text.matchAll(/`([a-z][\w-]*)(?:\/[\w-]+)?`/g)].map(([, name]) => name!)
    const first = /^[a-z][\w-]*(?= \d| *$)/.exec(today!.trim())?.[0]
    const names = [...scoped, ...plain, ...(first === undefined ? [] : [first])].filter(
      (name) => !existsSync(join(root, name))
    )
    const missing = names.filter((name) => versions[name] === undefined)
    const known = new Set(names.map((name) => versions[name]))
    const stale = [...row.matchAll(/\d+\.\d+\.\d+/g)]
      .map(([version]) => version)
      .filter((version) => !known.has(version))
    return [...missing, ...stale]
  })
}

describe("comments", () => {
  it("cite documents and sections that exist", () => {
    const dead = sources
      .filter((file) => file !== "test/docs.unit.ts")
      .flatMap((file) => {
        const found = deadCitations(read(file))
        return found.length === 0 ? [] : [[file, found]]
      })
    expect(dead).toEqual([])
  })

  it("name source files that exist", () => {
    const dead = sources.flatMap((file) => deadFiles(read(file)).map((name) => `${file}: ${name}`))
    expect(dead).toEqual([])
  })

  it.each([
    ["a document that is not there", "/** By docs/nowhere.md, 1.1. */", ["docs/nowhere.md"]],
    ["a section that is not there", "/** (docs/platform.md, 9.99) */", ["docs/platform.md, 9.99"]],
    ["one of several, wrapped", "/**\n * (docs/platform.md, 6.1,\n * 6.4 to 6.99)\n */", ["docs/platform.md, 6.99"]],
    ["a rule that is not there", "// docs/architecture.md, rules 2 and 99", ["docs/architecture.md, rule 99"]],
    ["a title that is not there", '/** (docs/architecture.md, "Weather") */', ['docs/architecture.md, "Weather"']],
    [
      "nothing wrong",
      '/** (docs/architecture.md, "Placement" and rule 4), (docs/directory.md, 3), docs/platform.md. */',
      []
    ]
  ])("are checked: %s", (_name, source, dead) => {
    expect(deadCitations(source)).toEqual(dead)
  })

  it("are checked for files", () => {
    expect(deadFiles("  /** See `Nowhere.ts` and `docs.unit.ts`. */\nconst file = `other.ts`")).toEqual(["Nowhere.ts"])
  })
})

describe("documents", () => {
  it.each(["README.md", ...documents])("%s: its links and references lead somewhere", (file) => {
    expect(deadLinks(file, read(file))).toEqual([])
  })

  it("list every section that is in a file of their folder", () => {
    const parts = documents.filter((file) => documentOf(file) !== file)
    expect(parts).toContain("docs/platform/send.md")
    const unlisted = parts.flatMap((file) => {
      const document = documentOf(file)
      const listed = read(document)
      return [...read(file).matchAll(/^##+ (\d.*)$/gm)]
        .map(([, title]) => `(${file.slice(dirname(document).length + 1)}#${slugOf(title!)})`)
        .filter((link) => !listed.includes(link))
    })
    expect(unlisted).toEqual([])
  })

  it("are checked for dead links and references", () => {
    const text = "## 1. One\n[a](../README.md) [b](gone.md) [c](#one) [d](#1-one) [e](platform.md), 6.1 and 9.99 (1.2)"
    expect(deadLinks("docs/new.md", text)).toEqual(["gone.md", "#one", "platform.md, 9.99", "1.2"])
  })
})

describe("the table of packages", () => {
  const manifest: Manifest = JSON.parse(read("package.json"))

  it("names packages and versions of package.json", () => {
    expect(wrongPackages(read("docs/architecture.md"), manifest)).toEqual([])
  })

  it.each([
    ["a package that is not there", "| pg | `@effect/sql-nothing` | 4.0.5 |", ["@effect/sql-nothing", "4.0.5"]],
    ["a version of long ago", "| vitest | vitest | 5.0.0 |", ["5.0.0"]],
    ["another package's version", "| effect | effect 4.1 | 4.0.5 |", ["4.0.5"]]
  ])("is checked: %s", (_name, row, wrong) => {
    const head = "## What the packages are today\n\n| Named | Today | Used here |\n|---|---|---|\n"
    expect(wrongPackages(`${head}${row}\n\n## Choices\n`, manifest)).toEqual(wrong)
  })
})
