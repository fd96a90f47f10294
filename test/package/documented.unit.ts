/**
 * Every name that the package exports has a comment. What programs call has an example there, and what they only name has one or says where there is one. All
 * examples compile, and run where they can and print what they say: in one program of the compiler and one process, over the sources.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { API, type Symbol as Name, type Project, SignatureKind, SymbolFlags } from "typescript/unstable/sync"
import { entryPoints } from "../support/entryPoints.ts"
import { allComments, commentsIn, examplesIn, expectedOf, hasExample, linksOf, printedBy } from "./examples.ts"

const root = new URL("../../", import.meta.url).pathname
const comments = allComments()
const examples = examplesIn(comments)

/** A name that the package exports. */
interface Public {
  /** The entry and the name there: `sluice Actor.make`. */
  readonly name: string
  readonly symbol: Name
  /** What is said of it. */
  readonly comment: string
}

/** The public names of an entry. */
const publicNames = ({ checker, program }: Project, entry: string, source: string): ReadonlyArray<Public> => {
  const below = (module: Name, prefix: string): ReadonlyArray<Public> =>
    checker.getExportsOfModule(module).flatMap((exported) => {
      const symbol = (exported.flags & SymbolFlags.Alias) === 0 ? exported : checker.getAliasedSymbol(exported)
      if ((symbol.flags & SymbolFlags.Module) !== 0) return below(symbol, `${prefix}${exported.name}.`)
      const declared = `${relative(root, symbol.declarations[0]?.path ?? "")} ${symbol.name}`
      return [{ name: `${prefix}${exported.name}`, symbol, comment: comments.get(declared) ?? "" }]
    })
  return below(checker.getSymbolAtLocation(program.getSourceFile(join(root, source))!)!, `${entry} `)
}

/** Whether programs call it or build with it: functions, services and layers. */
const isCalled = ({ checker }: Project, { name, symbol }: Public): boolean => {
  if ((symbol.flags & SymbolFlags.Value) === 0) return false
  const type = checker.getTypeOfSymbol(symbol)
  if (type === undefined) return false
  const isService = (symbol.flags & SymbolFlags.Class) !== 0 && checker.getPropertyOfType(type, "of") !== undefined
  // Schemas are values with methods of their own, and have no signature.
  return isService || / layer|\.layer/.test(name) || checker.getSignaturesOfType(type, SignatureKind.Call).length > 0
}

/** How programs may write a name: `Actor.make`, or `Durable.layer` for `layer` of `sluice/durable`. */
const spellings = (name: string): ReadonlyArray<string> => {
  const [entry, inner] = name.split(" ") as [string, string]
  const last = entry.slice(entry.lastIndexOf("/") + 1)
  return [inner, `${last.charAt(0).toUpperCase()}${last.slice(1)}.${inner}`]
}

let folder: string
let files: ReadonlyArray<string>
let api: API
let project: Project
let names: ReadonlyArray<Public>

beforeAll(() => {
  // Below the repository, where the programs find the packages that they import.
  mkdirSync(join(root, "coverage"), { recursive: true })
  folder = mkdtempSync(join(root, "coverage/examples-"))
  files = examples.map((_, index) => join(folder, `example${index}.ts`))
  for (const [index, file] of files.entries()) writeFileSync(file, `${examples[index]!.program}\nexport {}\n`)
  const config = join(folder, "tsconfig.json")
  const sources = [...entryPoints().values()].map((source) => join(root, source))
  writeFileSync(
    config,
    JSON.stringify({
      extends: join(root, "tsconfig.json"),
      compilerOptions: { noUnusedLocals: false },
      files: [...sources, ...files],
      include: []
    })
  )
  api = new API({ cwd: root })
  project = api.updateSnapshot({ openProjects: [config] }).getProjects()[0]!
  names = [...entryPoints()].flatMap(([entry, source]) => publicNames(project, entry, source))
})

afterAll(() => {
  api.close()
  rmSync(folder, { recursive: true, force: true })
})

describe("the public names", () => {
  it("name no type that no entry exports", () => {
    const reports = new URL("api/", import.meta.url)
    const naming = readdirSync(reports).filter((file) =>
      readFileSync(new URL(file, reports), "utf8").includes("# Behind them")
    )
    expect(naming).toEqual([])
  })

  it("have comments", () => {
    expect(names.length).toBeGreaterThan(500)
    expect(names.filter(({ comment }) => comment === "").map(({ name }) => name)).toEqual([])
  })

  it("have an example where programs call them", () => {
    const called = names.filter((one) => isCalled(project, one))
    for (const name of [
      "sluice Actor.make",
      "sluice Engine.Engine",
      "sluice Reactors.settled",
      "sluice/durable layer",
      "sluice/limits RateLimiter",
      "sluice/send Admission"
    ])
      expect(names.filter(({ comment }) => hasExample(comment)).map((one) => one.name)).toContain(name)
    expect(called.filter(({ comment }) => !hasExample(comment)).map(({ name }) => name)).toEqual([])
  })

  it("have an example or say where there is one", () => {
    const shown = new Set(names.flatMap(({ comment, name }) => (hasExample(comment) ? spellings(name) : [])))
    const bare = names.filter(({ comment }) => !hasExample(comment) && !linksOf(comment).some((to) => shown.has(to)))
    expect(bare.map(({ name }) => name)).toEqual([])
  })

  it("are found with their comments, whatever is declared", () => {
    const source =
      "/** One. See {@link make}. */\nexport const one = 1\n/**\n * Two.\n *\n * @example\n * ```ts\n * 2\n * ```\n */\n"
    const found = commentsIn(`${source}// said to the linter\nexport type Two = 2\n`)
    expect(linksOf(found.get("one")!)).toEqual(["make"])
    expect(examplesIn(found)).toEqual([{ of: "Two", program: "2\n", isRun: true }])
  })
})

describe("the examples in comments", () => {
  it("compile", () => {
    const problems = files.flatMap((file, index) =>
      [...project.program.getSyntacticDiagnostics(file), ...project.program.getSemanticDiagnostics(file)].map(
        ({ messageChain, text }) => `${examples[index]!.of}: ${text} ${messageChain?.[0]?.text ?? ""}`
      )
    )
    expect(problems).toEqual([])
  })

  it("run and print what they say", () => {
    const run = examples.flatMap((example, index) => (example.isRun ? [{ example, file: files[index]! }] : []))
    const printed = printedBy(run.map(({ file }) => file))
    const found = Object.fromEntries(run.map(({ example }, index) => [example.of, printed[index]]))
    expect(found).toEqual(Object.fromEntries(run.map(({ example }) => [example.of, expectedOf(example)])))
  })
})
