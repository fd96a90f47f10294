/**
 * `npm run test:variants [-- --only name…] [--seeds n]`: shows broken variants of the program to its tests, and prints who noticed each of them
 * after how long, then how many of each area; then how soon a simulation finds rules that are wrong on purpose. The exit code tells whether all were noticed. The tests see the program as it is first: what complains about that finds nothing.
 */
import { parseArgs } from "node:util"
import { campaign } from "../../src/simulation/index.ts"
import { wrongRules } from "../simulation/rules/wrongRules.ts"
import { type Tried, tryFinder } from "./runner/run.ts"
import { type Finder, finderKinds, findersOf, locate, type Variant } from "./runner/variant.ts"
import { variants } from "./variants.ts"

const usage = `Usage: npm run test:variants [-- options]

  --only text       variants whose name begins with it; may be repeated
  --finder kind     tries these only: ${finderKinds.join(", ")}; may be repeated
  --seeds n         seeds of the simulators, 1 to 1,000,000; default 500
  --no-control      does not show the program as it is first
  --list            prints the variants and runs nothing
  --verbose         prints what the tests write where nobody noticed`

/** Variants at a time: each is a process that keeps a core busy. */
const atOnce = 2

const readArguments = () => {
  const { values } = parseArgs({
    options: {
      only: { type: "string", multiple: true, default: [] },
      finder: { type: "string", multiple: true, default: [...finderKinds] },
      seeds: { type: "string", default: "500" },
      "no-control": { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      verbose: { type: "boolean", default: false },
      help: { type: "boolean", default: false }
    }
  })
  const seeds = Number(values.seeds)
  if (!(Number.isInteger(seeds) && seeds >= 1 && seeds <= 1_000_000)) throw new Error("--seeds must be 1 to 1000000")
  const unknown = values.finder.filter((kind) => !finderKinds.some((known) => known === kind))
  if (unknown.length > 0) throw new Error(`there is no finder ${unknown.join(" and no finder ")}`)
  const isWanted = ({ name }: Variant) => values.only.length === 0 || values.only.some((text) => name.startsWith(text))
  const wanted = variants.filter(isWanted)
  if (wanted.length === 0) throw new Error(`no variant begins with ${values.only.join(" or ")}`)
  return { ...values, seeds, wanted }
}

type Arguments = ReturnType<typeof readArguments>

const wantedFinders = (variant: Variant, { finder: kinds }: Arguments): ReadonlyArray<Finder> =>
  findersOf(variant).filter(({ kind }) => kinds.includes(kind))

/** Does something with each, a few at a time. */
const forEach = async <A>(items: ReadonlyArray<A>, effect: (item: A) => Promise<void>): Promise<void> => {
  const left = [...items]
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await effect(item)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

const describeFinder = (finder: Finder): string =>
  finder.kind === "unit" || finder.kind === "servers" ? `${finder.kind} ${finder.files.join(" ")}` : finder.kind

/** Whether every finder is content with the program as it is. */
const control = async (given: Arguments): Promise<boolean> => {
  const finders = new Map(
    given.wanted.flatMap((variant) => wantedFinders(variant, given)).map((finder) => [describeFinder(finder), finder])
  )
  let isContent = true
  await forEach([...finders], async ([name, finder]) => {
    const { finding, output, seconds } = await tryFinder(finder, undefined, given.seeds)
    if (finding._tag === "Unnoticed") {
      process.stderr.write(`nothing is wrong for ${name} (${seconds.toFixed(0)} s)\n`)
      return
    }
    isContent = false
    process.stderr.write(`${output.slice(-4_000)}\n${name} complains about the program as it is\n`)
  })
  return isContent
}

/** Shows a variant to its finders until one notices. Answers whether one did, and prints its line of the table. */
const show = async (variant: Variant, given: Arguments): Promise<boolean> => {
  const tried: Array<Tried> = []
  for (const finder of wantedFinders(variant, given)) {
    tried.push(await tryFinder(finder, variant, given.seeds))
    if (tried.at(-1)!.finding._tag !== "Unnoticed") break
  }
  const seconds = tried.reduce((sum, one) => sum + one.seconds, 0)
  const last = tried.at(-1)
  if (last?.finding._tag === "Noticed") {
    line(variant.name, `${last.finder.kind}, ${shortened(last.finding.by)}`, seconds)
    return true
  }
  const why =
    last?.finding._tag === "Unusable"
      ? `UNUSABLE: ${last.finding.message}`
      : `NOT NOTICED by ${tried.map(({ finder, isApplied }) => `${finder.kind}${isApplied ? "" : " (does not load it)"}`).join(", ")}: ${variant.sentence}`
  line(variant.name, why, seconds)
  if (given.verbose) process.stderr.write(`${tried.map(({ output }) => output.slice(-4_000)).join("\n")}\n`)
  return false
}

const shortened = (text: string): string => (text.length <= 200 ? text : `${text.slice(0, 199)}…`)

const line = (name: string, finder: string, seconds: number | string) =>
  process.stdout.write(
    `${name.padEnd(62)} ${(typeof seconds === "string" ? seconds : seconds.toFixed(1)).padStart(7)}  ${finder}\n`
  )

/** What the name of a variant begins with. */
const areaOf = ({ name }: Variant): string => name.slice(0, name.indexOf(":"))

/** Prints how many variants of each area were noticed. */
const summary = (variants: ReadonlyArray<Variant>, noticed: ReadonlySet<Variant>) => {
  for (const [area, all] of Map.groupBy(variants, areaOf)) {
    const found = all.filter((variant) => noticed.has(variant)).length
    process.stdout.write(`${area.padEnd(20)} ${found} of ${all.length}, ${Math.floor((100 * found) / all.length)} %\n`)
  }
  process.stdout.write(`${noticed.size} of ${variants.length} variants noticed\n`)
}

/** How long a simulation takes to find what is wrong with rules of a user, and to make it small. */
const findWrongRules = (seeds: number): boolean => {
  line("wrong rule", "found as", "seconds")
  let found = 0
  for (const { name, plan, says } of wrongRules) {
    const begun = performance.now()
    const { problem, workload } = plan()
    const failure = problem ?? campaign(workload, { seed: 0, seeds }).failure
    const isFound = failure?.violation.message.includes(says) === true
    if (isFound) found++
    const what = isFound ? `seed ${failure.seed}, ${shortened(failure.violation.message)}` : "NOT FOUND"
    line(name, what, (performance.now() - begun) / 1000)
  }
  process.stdout.write(`${found} of ${wrongRules.length} wrong rules found\n`)
  return found === wrongRules.length
}

const main = async (): Promise<number> => {
  const given = readArguments()
  if (given.help) {
    process.stdout.write(`${usage}\n`)
    return 0
  }
  const changes = given.wanted.map(locate)
  if (given.list) {
    for (const [index, { name, sentence }] of given.wanted.entries())
      process.stdout.write(`${name}: ${sentence} (${changes[index]!.file})\n`)
    return 0
  }
  if (!given["no-control"] && !(await control(given))) return 1
  line("variant", "noticed by", "seconds")
  const noticed = new Set<Variant>()
  await forEach(given.wanted, async (variant) => {
    if (await show(variant, given)) noticed.add(variant)
  })
  summary(given.wanted, noticed)
  const isAllFound = given.only.length > 0 || findWrongRules(given.seeds)
  return noticed.size === given.wanted.length && isAllFound ? 0 : 1
}

// The children are ended at the exit.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1))
try {
  process.exitCode = await main()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`)
  process.exitCode = 2
}
