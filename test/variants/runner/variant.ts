/**
 * A broken variant of the program: one small replacement in its source, made by a test's module loader and never written to disk. Production
 * code therefore holds no switch for faults. A variant names no file: its tokens are in the source exactly once, so that it survives other
 * comments, another layout and a move. One whose tokens are not there once fails loudly, and cannot outlive the code it was made for.
 */
import { readdirSync, readFileSync } from "node:fs"
import { type Change, root } from "./change.ts"
import { spansOf, tokensOf } from "./tokens.ts"

/** Simulators that may notice a variant: each plays its corpus, then seeds. */
export const simulators = ["simulation", "streams", "followers", "deliveries", "mails", "sending", "owners"] as const
export type Simulator = (typeof simulators)[number]

/** In the order in which they are tried: tests without servers, simulators, tests with servers. */
export const finderKinds = ["unit", ...simulators, "servers"] as const

/** Who may notice a variant, in one process. */
export type Finder =
  | { readonly kind: "unit" | "servers"; readonly files: ReadonlyArray<string> }
  | { readonly kind: Simulator }

/** What takes another text's place in the source. */
export interface Replacement {
  readonly name: string
  /** Whole tokens, as code that stands in `src` once. */
  readonly find: string
  readonly replace: string
}

export interface Variant extends Replacement {
  /** What is broken, as a user of the program would say it. */
  readonly sentence: string
  /** Simulators by their name, and tests by the end of their path without `.ts`: `WorkQueue.it`, `dispatcher/pace.unit`. */
  readonly finders: ReadonlyArray<string>
}

/** The tokens of a variant are not in the source, or are there more than once. */
export class NotFoundOnce extends Error {
  constructor({ find, name }: Replacement, files: ReadonlyArray<string>) {
    const where = files.length === 0 ? "" : ` (${files.join(", ")})`
    super(`the variant "${name}" finds its tokens ${files.length} times in src instead of once${where}:\n${find}`)
    this.name = "NotFoundOnce"
  }
}

const filesIn = (folder: string, pattern: RegExp): ReadonlyArray<string> =>
  readdirSync(`${root}${folder}`, { recursive: true, encoding: "utf8" })
    .filter((name) => pattern.test(name))
    .map((name) => `${folder}/${name}`)
    .sort()

/** A value that is made when it is first asked for. */
const once = <A>(make: () => A): (() => A) => {
  let made: { readonly value: A } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

const sources = once(() =>
  filesIn("src", /\.tsx?$/).map((file) => {
    const text = readFileSync(`${root}${file}`, "utf8")
    return { file, text, tokens: once(() => tokensOf(text)) }
  })
)

/** Where a variant makes its replacement. Fails where that is not one place, and where nothing would change. */
export const locate = (variant: Replacement): Change => {
  const { find, name, replace } = variant
  const sought = tokensOf(find)
  const words = [...new Set(sought.map(({ text }) => text))].toSorted((left, right) => right.length - left.length)
  const places = sources()
    .filter(({ text }) => words.every((one) => text.includes(one)))
    .flatMap(({ file, text, tokens }) => spansOf(tokens(), sought).map((span) => ({ file, text, ...span })))
  const [place] = places
  if (place === undefined || places.length > 1)
    throw new NotFoundOnce(
      variant,
      places.map(({ file }) => file)
    )
  const { end, file, start, text } = place
  const by = tokensOf(replace)
  if (by.length === sought.length && by.every((token, index) => token.text === sought[index]!.text))
    throw new Error(`the variant "${name}" changes nothing`)
  return { name, file, start, found: text.slice(start, end), replace: replace.trim() }
}

const testFiles = once(() => filesIn("test", /\.(unit|sim|it|e2e)\.ts$/))

const testFile = (name: string): string => {
  const files = testFiles().filter((file) => file.endsWith(`/${name}.ts`))
  if (files.length !== 1) throw new Error(`${name} is the end of ${files.length} test files instead of one`)
  return files[0]!
}

/** The finders of a variant, the quickest first. Fails where one is no simulator and not one test. */
export const findersOf = ({ finders }: Pick<Variant, "finders">): ReadonlyArray<Finder> => {
  const isSimulator = (name: string): name is Simulator => (simulators as ReadonlyArray<string>).includes(name)
  const files = finders.filter((name) => !isSimulator(name)).map(testFile)
  const tests = (kind: "unit" | "servers", pattern: RegExp): ReadonlyArray<Finder> => {
    const own = files.filter((file) => pattern.test(file))
    return own.length === 0 ? [] : [{ kind, files: own }]
  }
  return [
    ...tests("unit", /\.(unit|sim)\.ts$/),
    ...simulators.filter((kind) => finders.includes(kind)).map((kind) => ({ kind })),
    ...tests("servers", /\.(it|e2e)\.ts$/)
  ]
}
