/**
 * The comments of the sources and the programs in them (`@example`), and what a comment says of where else an example is (`{@link make}`). Needs nothing
 * built.
 */
import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

const root = new URL("../../", import.meta.url).pathname

/** A program in a comment. */
export interface Example {
  /** Where it stands: file, and the name of what is documented. */
  readonly of: string
  readonly program: string
  /** False for one that begins with "```ts no-run": it is compiled alone. */
  readonly isRun: boolean
}

/** A comment, and the name that is declared behind it. */
const commented =
  /^\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n(?:\/\/.*\n)*(?:export )?(?:abstract )?(?:class|const|function|interface|type) (\w+)/gm

/** The comments of a source by the name that they are about; of a value and a type of one name the first. */
export const commentsIn = (source: string): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  for (const [, comment, name] of source.matchAll(commented))
    if (!found.has(name!)) found.set(name!, comment!.replace(/^ *\* ?/gm, ""))
  return found
}

/** The comments of all sources, by file and name: `src/engine/Actor.ts make`. */
export const allComments = (): ReadonlyMap<string, string> =>
  new Map(
    readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .sort()
      .map((file) => join("src", file))
      .flatMap((file) =>
        [...commentsIn(readFileSync(join(root, file), "utf8"))].map(
          ([name, text]) => [`${file} ${name}`, text] as const
        )
      )
  )

export const hasExample = (comment: string): boolean => /^@example\n```ts/m.test(comment)

/** What a comment says shows the name in use. */
export const linksOf = (comment: string): ReadonlyArray<string> =>
  [...comment.matchAll(/\{@link (\S+)\}/g)].map(([, target]) => target!)

/** The examples in comments. */
export const examplesIn = (comments: ReadonlyMap<string, string>): ReadonlyArray<Example> =>
  [...comments].flatMap(([of, comment]) =>
    hasExample(comment)
      ? [...comment.matchAll(/^```ts( no-run)?\n([\s\S]*?)^```/gm)].map(([, mark, program]) => ({
          of,
          program: program!,
          isRun: mark === undefined
        }))
      : []
  )

/** What a program prints, by the comments behind what it prints. */
export const expectedOf = ({ program }: Example): ReadonlyArray<string> =>
  [...program.matchAll(/console\.log\(.*\)\n? ?\/\/ (.*)$/gm)].map(([, printed]) => printed!)

/** Imports the programs one after the other, and says what each has printed, and why one failed. */
const runner = `
import { format } from "node:util"
const printed = []
const { log } = console
for (const file of process.argv.slice(1)) {
  const lines = []
  console.log = (...values) => lines.push(format(...values))
  await import(file).catch((error) => lines.push(String(error)))
  printed.push(lines)
}
log(JSON.stringify(printed))
process.exit()`

/** Runs programs in one process, and answers the lines that each has printed. */
export const printedBy = (files: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> => {
  const asPackage = join(root, "test/support/asPackage.ts")
  const args = ["--import", asPackage, "--input-type=module", "-e", runner, ...files]
  return JSON.parse(
    execFileSync(process.execPath, args, { encoding: "utf8", cwd: root, stdio: ["ignore", "pipe", "pipe"] })
  )
}
