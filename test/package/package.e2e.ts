/**
 * The published package, as a stranger gets it: packed, installed into an empty project together with its peers, checked
 * by the compiler and run from JavaScript, because Node strips no types under node_modules. The programs are those of the
 * README, of docs/reactors.md, of docs/outbox.md and of docs/send.md, as written.
 */
import { execFile } from "node:child_process"
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { Effect, Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { makeDatabase } from "../support/database.ts"

const run = promisify(execFile)
const root = new URL("../..", import.meta.url).pathname
const node = process.execPath
const npm = process.env.npm_execpath

/** npm itself, run by this Node. */
const npmRun = (args: ReadonlyArray<string>, cwd: string) =>
  npm === undefined ? run("npm", args, { cwd }) : run(node, [npm, ...args], { cwd })

/** A document's programs by the file name in their first line. */
const programs = (document: string): ReadonlyArray<readonly [file: string, text: string]> =>
  [...document.matchAll(/```ts\n\/\/ (\S+\.ts)\n([\s\S]*?)```/g)].map(([, file, text]) => [file!, text!])

describe("the packed package", () => {
  let project: string
  let files: ReadonlyArray<string>
  let documented: ReadonlyMap<string, string>

  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), "sluice-package-"))
    const { stdout } = await npmRun(["pack", "--json", "--pack-destination", project], root)
    const packed = (
      JSON.parse(stdout.slice(stdout.indexOf("["))) as ReadonlyArray<{
        readonly filename: string
        readonly files: ReadonlyArray<{ readonly path: string }>
      }>
    )[0]!
    files = packed.files.map((file) => file.path)
    const { devDependencies } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
      readonly devDependencies: Readonly<Record<string, string>>
    }
    const pinned = (...names: ReadonlyArray<string>) =>
      Object.fromEntries(names.map((name) => [name, devDependencies[name]]))
    await writeFile(
      join(project, "package.json"),
      JSON.stringify({
        name: "stranger",
        private: true,
        type: "module",
        dependencies: { sluice: `file:${packed.filename}`, ...pinned("effect", "@effect/platform-node") },
        devDependencies: pinned("typescript", "@types/node")
      })
    )
    await npmRun(["install", "--no-audit", "--no-fund"], project)
    const documents = await Promise.all(
      ["README.md", "docs/reactors.md", "docs/outbox.md", "docs/send.md"].map((document) =>
        readFile(join(root, document), "utf8")
      )
    )
    const found = documents.flatMap(programs)
    documented = new Map(found)
    // One program would hide another one of the same name.
    expect(found.map(([file]) => file)).toHaveLength(documented.size)
    for (const [file, text] of documented) await writeFile(join(project, file), text)
  })

  afterAll(() => rm(project, { recursive: true, force: true }))

  const runProgram = async (file: string, environment: Readonly<Record<string, string>> = {}) => {
    const { stdout } = await run(node, [join(project, file)], {
      cwd: project,
      env: { PATH: process.env.PATH, ...environment }
    })
    return stdout.trim()
  }

  it("holds the build, the documents that it cites, nats.conf, the data with its notice and nothing of the workshop", () => {
    for (const file of [
      "bin/sluice.js",
      "dist/main.js",
      "dist/index.d.ts",
      "dist/index.d.ts.map",
      "src/index.ts",
      "dist/console/assets/manifest.json",
      "dist/console/assets/licences.txt",
      "dist/directory/data/NOTICE",
      "dist/send/data/NOTICE",
      "dist/send/data/free-email-domains.json.gz",
      "docs/platform.md",
      "nats.conf",
      "LICENSE",
      "README.md"
    ]) {
      expect(files).toContain(file)
    }
    expect(files.filter((file) => /^test\/|^src\/.*\/data\//.test(file))).toEqual([])
  })

  it("shares one effect with its user", async () => {
    expect(await readdir(join(project, "node_modules/sluice/node_modules")).catch(() => [])).not.toContain("effect")
  })

  it("leads an editor from a declaration to its source", async () => {
    const map = join(project, "node_modules/sluice/dist/engine/Actor.d.ts.map")
    const { sources } = JSON.parse(await readFile(map, "utf8")) as { readonly sources: ReadonlyArray<string> }
    expect(await readFile(join(dirname(map), sources[0]!), "utf8")).toContain("export const make")
  })

  it("type-checks in an empty project, its own declarations too, with every program of the README and of docs/send.md", async () => {
    await writeFile(
      join(project, "tsconfig.json"),
      JSON.stringify({
        compilerOptions: {
          module: "nodenext",
          target: "es2024",
          // Effect's own declarations name what browsers and Node share.
          lib: ["es2024", "dom", "dom.iterable"],
          types: ["node"],
          strict: true,
          allowImportingTsExtensions: true,
          // Ours are checked too.
          skipLibCheck: false,
          noEmit: true
        },
        include: ["*.ts"]
      })
    )
    expect([...documented.keys()]).toEqual(
      expect.arrayContaining(["counter.ts", "durable.ts", "limiter.ts", "directory.ts", "prove.ts"])
    )
    await run(node, [join(project, "node_modules/typescript/bin/tsc"), "-p", project]).catch(
      (error: { stdout: string }) => expect.fail(error.stdout)
    )
  })

  it("runs the README's actor in memory", async () => {
    expect(await runProgram("counter.ts")).toBe("5")
  })

  it("runs the README's actor durably, and goes on where it stopped", async () => {
    const twice = Effect.gen(function* () {
      const { url } = yield* makeDatabase
      const environment = { DATABASE_URL: Redacted.value(url), NATS_URL: inject("natsUrl") }
      // The actor's own file runs first, in memory, because it is imported.
      const once = Effect.map(
        Effect.promise(() => runProgram("durable.ts", environment)),
        (printed) => printed.split("\n").filter((line) => /^\d+$/.test(line))
      )
      return [yield* once, yield* once]
    })
    expect(await Effect.runPromise(Effect.scoped(twice))).toEqual([
      ["5", "5"],
      ["5", "10"]
    ])
  })

  it("runs the guide's reactor in memory, and its projection in the transaction of its cursor", async () => {
    expect(await runProgram("orders.ts")).toBe("800 2")
    const once = Effect.gen(function* () {
      const { url } = yield* makeDatabase
      const environment = { DATABASE_URL: Redacted.value(url), NATS_URL: inject("natsUrl") }
      return yield* Effect.promise(() => runProgram("projection.ts", environment))
    })
    expect(await Effect.runPromise(Effect.scoped(once))).toContain("[ { cents: 800 } ]")
  })

  it("runs the guide's payment from one organization to another", async () => {
    expect(await runProgram("transfers.ts")).toBe("[ 70, 130 ]")
  })

  it("runs the README's limiter and directory without a server", async () => {
    expect(await runProgram("limiter.ts")).toBe("[ true, false ]")
    expect(await runProgram("directory.ts")).toBe("VERIZON NEW YORK, INC.")
  })

  it.each([
    ["rolling.ts", "[ true, false, 3600 ]"],
    ["distinct.ts", "[ 'c.test' ]"],
    ["monthly.ts", "[ 'allowed', 'limited' ]"],
    ["probation.ts", "50 sends hour"],
    ["pauses.ts", "[ null, null, null, 'bounces' ]"],
    ["trust.ts", "probation sending_paused probation"],
    ["tier.ts", "{ tier: 'new', dailyCap: 200 }"],
    ["holds.ts", "200 [ 0, 2 ]"],
    ["admission.ts", "[ { id: '1', state: 'queued', suppressed: [] } ]\nThe sender \"ann@two.test\" is not verified"],
    ["onEngine.ts", "200"],
    ["risk.ts", "[ 'free_address' ] higher [ 'top_level_domain', 'brand_word' ]"],
    ["content.ts", "[ 'foreign_link', 'shortened_link', 'verification_subject' ]"],
    ["feedback.ts", "5.7.1 permanent true"],
    ["returnPath.ts", "bounce+hu37vaahanlkjsru6zlmuya@bounces.one.test\n{ emailId: 'em_1', recipientIndex: 0 } null"]
  ])("runs %s of docs/send.md without a server", async (file, printed) => {
    expect(await runProgram(file)).toBe(printed)
  })

  it("delivers the README's event to the README's receiver, and keeps the README's specification of pauses", async () => {
    expect(await runProgram("sender.ts")).toBe("orders.created { order: 7 }\nsucceeded")
    expect(await runProgram("pausing.ts")).toBe("as specified")
  })

  it("finds the bug of the README's rule, and shrinks it to the two commands that show it", async () => {
    const printed = await runProgram("prove.ts")
    expect(printed).toContain("every seat is free or held")
    expect(printed).toContain("shrunk from")
  })

  it("has a command that runs", async () => {
    const { stdout } = await run(node, [join(project, "node_modules/.bin/sluice"), "--version"])
    expect(stdout).toBe("sluice 0.1.0\n")
  })

  it("fetches no server while it is installed", async () => {
    expect(await readdir(join(project, "node_modules/sluice/node_modules/.sluice")).catch(() => "nothing")).toBe(
      "nothing"
    )
  })
})
