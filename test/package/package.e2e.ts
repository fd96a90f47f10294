/**
 * The published package, as a stranger gets it: packed, installed into an empty project together with its peers, checked
 * by the compiler and run from JavaScript, because Node strips no types under node_modules. The programs are those of the
 * README, of the documents and of docs/examples, as written.
 */
import { execFile, spawn } from "node:child_process"
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { Effect, Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Block, blocksOf } from "../documents/blocks.ts"
import { oneServer } from "../nats/natsServers.ts"
import { makeDatabase } from "../support/database.ts"
import { freePort } from "../support/freePort.ts"
import { patienceMillis } from "../support/patience.ts"
import { apiReports, entriesOf } from "./apiReport.ts"
import { alone, programsOf } from "./programs.ts"

const run = promisify(execFile)
const root = new URL("../..", import.meta.url).pathname
const node = process.execPath
const npm = process.env.npm_execpath

/** The folder of this run: the packed file, and a project in it. */
let folder: string

/** The compiler collects its garbage less often, as in test/check.ts. */
const env = { GOGC: "400", ...process.env }

/** Runs a block of a document; npm is run by this Node. */
const shell = (block: string, cwd: string, more: Readonly<Record<string, string>> = {}) => {
  const own = npm === undefined ? "" : `npm() { "${node}" "${npm}" "$@"; }\n`
  const environment = { npm_config_audit: "false", npm_config_fund: "false", ...env, ...more }
  return run("bash", ["-ec", `${own}${block}`], { cwd, env: environment })
}

/**
 * A database and a nats-server for one program. Logs of the default size set aside most of what a server has, so on the
 * one of the run no other test would find room beside them.
 */
const servers = Effect.gen(function* () {
  const database = yield* makeDatabase
  const { url } = yield* oneServer()
  return { DATABASE_URL: Redacted.value(database.url), NATS_URL: url }
})

/** Imports programs one after the other, in one process, and says what each has printed. */
const runner = `
import { format } from "node:util"
const printed = {}
for (const file of process.argv.slice(2)) {
  const lines = []
  console.log = (...values) => lines.push(format(...values))
  await import(\`./\${file}\`)
  printed[file] = lines.join("\\n")
}
process.stdout.write(JSON.stringify(printed))`

/** Those that need servers, run by tests of their own; `sluice/embedded` by the test of its layer. */
const withServers = [
  "README/durable.ts",
  "durable/counter.ts",
  "durable/durable.ts",
  "durable/embedded.ts",
  "reactors/projection.ts",
  "examples/projection.ts",
  "examples/httpService.ts"
]

describe("the packed package", () => {
  let project: string
  let files: ReadonlyArray<string>
  /** Programs by folder and file: a folder for each document. */
  const programs: Array<string> = []
  let packedSizes: { readonly size: number; readonly unpackedSize: number }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "sluice-package-"))
    // The guide's commands, with a folder of this run in place of /tmp.
    const inFolder = ({ text }: Block) => text.replaceAll("/tmp", folder)
    const [pack, install] = blocksOf("docs/getting-started.md").filter(({ language }) => language === "sh")
    const { stdout } = await shell(`${inFolder(pack!)} --json`, root)
    const packed = (
      JSON.parse(stdout.slice(stdout.indexOf("["))) as ReadonlyArray<{
        readonly filename: string
        readonly files: ReadonlyArray<{ readonly path: string }>
        readonly size: number
        readonly unpackedSize: number
      }>
    )[0]!
    packedSizes = packed
    files = packed.files.map((file) => file.path)
    expect(packed.filename).toBe("sluice-0.1.0.tgz")
    await shell(inFolder(install!), folder)
    project = join(folder, "first")
    const { devDependencies } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
      readonly devDependencies: Readonly<Record<string, string>>
    }
    const pinned = ["typescript", "@types/node"].map((name) => `${name}@${devDependencies[name]}`)
    await shell(`npm install --save-dev ${pinned.join(" ")}`, project)
    const guides = (await readdir(join(root, "docs"), { recursive: true })).filter((file) => file.endsWith(".md"))
    for (const document of ["README.md", ...guides.map((file) => join("docs", file))]) {
      const found = programsOf(await readFile(join(root, document), "utf8"))
      const name = document === "docs/README.md" ? "documents" : document.slice(0, -3).replace(/^docs\//, "")
      // One program would hide another one of the same name.
      expect(new Set(found.map(([file]) => file)).size, document).toBe(found.length)
      if (found.length > 0) await mkdir(join(project, name), { recursive: true })
      for (const [file, text] of found) await writeFile(join(project, name, file), text)
      programs.push(...found.map(([file]) => join(name, file)))
    }
    await cp(join(root, "docs/examples"), join(project, "examples"), { recursive: true })
    programs.push(...(await readdir(join(project, "examples"))).map((file) => join("examples", file)))
    await writeFile(join(project, "run.mjs"), runner)
  }, patienceMillis)

  afterAll(() => rm(folder, { recursive: true, force: true }))

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
      "dist/program/start.mjs",
      "dist/program/help.txt",
      "dist/program/licences.txt",
      "dist/index.d.ts",
      "dist/index.d.ts.map",
      "src/index.ts",
      "dist/console/assets/manifest.json",
      "dist/console/assets/licences.txt",
      "dist/directory/data/NOTICE",
      "dist/send/data/NOTICE",
      "dist/send/data/free-email-domains.json.gz",
      "docs/platform.md",
      "deploy/monitoring/rules.yaml",
      "deploy/monitoring/dashboard.json",
      "nats.conf",
      "LICENSE",
      "README.md"
    ]) {
      expect(files).toContain(file)
    }
    expect(files.filter((file) => /^test\/|^src\/.*\/data\//.test(file))).toEqual([])
  })

  it("has the public types of the reports (npm run api writes them), and none of them shows a partition's own", async () => {
    const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as Parameters<typeof entriesOf>[0]
    const reports = apiReports(join(project, "node_modules/sluice/dist"), entriesOf(manifest))
    const folder = join(root, "test/package/api")
    expect([...reports.keys()].sort()).toEqual((await readdir(folder)).sort())
    for (const [file, report] of reports) {
      const committed = await readFile(join(folder, file), "utf8")
      // Lines rather than the whole: a difference is shown by what has changed.
      expect(report.split("\n"), file).toEqual(committed.split("\n"))
      expect(report, file).not.toMatch(/^## engine\/(core|shell)\/Partition/m)
    }
  })

  it("is of the size that the README states", async () => {
    const { size, unpackedSize } = packedSizes
    const stated = /The package is (\d+\.\d) MB packed and (\d+) MB unpacked/.exec(
      await readFile(join(root, "README.md"), "utf8")
    )
    expect([size / 1e6, unpackedSize / 1e6].map(Math.round)).toEqual([
      Math.round(Number(stated?.[1])),
      Math.round(Number(stated?.[2]))
    ])
  })

  it("shares one effect with its user", async () => {
    expect(await readdir(join(project, "node_modules/sluice/node_modules")).catch(() => [])).not.toContain("effect")
  })

  it("names a peer that is missing or of another version, and what to install", async () => {
    const modules = join(project, "node_modules")
    const failure = (entry: string) =>
      run(node, ["--input-type=module", "-e", `await import("${entry}")`], { cwd: project }).then(
        () => "",
        (error: { readonly stderr: string }) => error.stderr
      )
    for (const [peer, entry] of [
      ["effect", "sluice"],
      ["effect", "sluice/durable"],
      ["@effect/platform-node", "sluice/directory"]
    ] as const) {
      const manifest = join(modules, peer, "package.json")
      const text = await readFile(manifest, "utf8")
      await writeFile(manifest, text.replace(/"version": "[^"]+"/, '"version": "4.0.9"'))
      const other = await failure(entry).finally(() => writeFile(manifest, text))
      expect(other).toContain(`sluice 0.1.0 needs ${peer} ~4.1.0, and finds 4.0.9: run npm install ${peer}@~4.1.0`)
      expect(other).not.toMatch(/^ +at /m)
      // Node links all imports before any of them runs, so it is Node who says that one is not there.
      await rename(join(modules, peer), join(modules, "away"))
      const missing = await failure(entry).finally(() => rename(join(modules, "away"), join(modules, peer)))
      expect(missing).toContain(`Cannot find package '${peer}'`)
    }
  })

  it("leads an editor from a declaration to its source", async () => {
    const map = join(project, "node_modules/sluice/dist/engine/Actor.d.ts.map")
    const { sources } = JSON.parse(await readFile(map, "utf8")) as { readonly sources: ReadonlyArray<string> }
    expect(await readFile(join(dirname(map), sources[0]!), "utf8")).toContain("export const make")
  })

  it("type-checks in an empty project, its own declarations too, with every program of the README and of the documents", async () => {
    const guide = await readFile(join(root, "docs/getting-started.md"), "utf8")
    const { compilerOptions } = JSON.parse(/```json\n(\{\s*"compilerOptions"[\s\S]*?)```/.exec(guide)![1]!) as {
      readonly compilerOptions: object
    }
    // The guide's own, and our declarations are checked too.
    const stricter = { compilerOptions: { ...compilerOptions, skipLibCheck: false }, include: ["*/*.ts"] }
    await writeFile(join(project, "tsconfig.json"), JSON.stringify(stricter))
    await run(node, [join(project, "node_modules/typescript/bin/tsc"), "-p", project, "--checkers", "1"], {
      env
    }).catch((error: { stdout: string }) => expect.fail(error.stdout))
  })

  it("runs every program that needs no server, and prints what the document says", async () => {
    expect([...Object.keys(alone), ...withServers].sort()).toEqual(programs.toSorted())
    const { stdout } = await run(node, ["run.mjs", ...Object.keys(alone)], { cwd: project })
    const printed = JSON.parse(stdout) as Readonly<Record<string, string>>
    for (const [file, expected] of Object.entries(alone)) {
      if (expected instanceof RegExp) expect(printed[file], file).toMatch(expected)
      else expect(printed[file], file).toBe(expected)
    }
  })

  it("runs the README's durable actor, which goes on where it stopped; the guide has the same", async () => {
    for (const file of ["counter.ts", "durable.ts"])
      expect(await readFile(join(project, "durable", file), "utf8")).toBe(
        await readFile(join(project, "README", file), "utf8")
      )
    const twice = Effect.gen(function* () {
      const environment = yield* servers
      // The actor's own file runs first, in memory, because it is imported.
      const once = Effect.map(
        Effect.promise(() => runProgram("README/durable.ts", environment)),
        (printed) => printed.split("\n").filter((line) => /^\d+$/.test(line))
      )
      return [yield* once, yield* once]
    })
    expect(await Effect.runPromise(Effect.scoped(twice))).toEqual([
      ["5", "5"],
      ["5", "10"]
    ])
  })

  it.each([
    ["reactors/projection.ts", "[ { cents: 800 } ]"],
    ["examples/projection.ts", "[ { item: 'cup', sold: 1, cents: 500 }, { item: 'tea', sold: 2, cents: 600 } ]"]
  ])("runs %s, whose table follows in the transaction of its cursor", async (file, printed) => {
    const once = Effect.gen(function* () {
      const environment = yield* servers
      return yield* Effect.promise(() => runProgram(file, environment))
    })
    // Node breaks lines where a terminal would.
    const output = await Effect.runPromise(Effect.scoped(once))
    expect(output.replaceAll(/\s+/g, " ")).toContain(printed)
  })

  it("serves the HTTP example: an order that is repeated counts once, and one too many is refused", async () => {
    const port = String(await freePort())
    const service = spawn(node, ["examples/httpService.ts"], { cwd: project, env: { PORT: port }, stdio: "pipe" })
    const order = async (key: string, pieces: number) => {
      const response = await fetch(`http://127.0.0.1:${port}/shops/acme/orders`, {
        method: "POST",
        headers: { "Idempotency-Key": key, "Content-Type": "application/json" },
        body: JSON.stringify({ pieces })
      })
      return [response.status, await response.text()]
    }
    try {
      // It says when it listens.
      await new Promise<void>((resolve, reject) => {
        service.stdout.on("data", (chunk) => String(chunk).includes("Listening") && resolve())
        service.on("exit", () => reject(new Error("the service has ended")))
      })
      expect(await order("a", 8)).toEqual([200, '{"left":4}'])
      expect(await order("a", 8)).toEqual([200, '{"left":4}'])
      expect(await order("b", 8)).toEqual([409, '{"_tag":"SoldOut","left":4}'])
      expect((await order("a", 7))[0]).toBe(409)
      expect((await order("c", 70))[0]).toBe(400)
    } finally {
      service.kill()
    }
  })

  it("has a command that runs, from the bundle of the program", async () => {
    const command = (...args: ReadonlyArray<string>) => run(node, [join(project, "node_modules/.bin/sluice"), ...args])
    expect((await command("--version")).stdout).toBe("sluice 0.1.0\n")
    expect((await command("--help")).stdout).toContain("sluice <subcommand>")
    const rules = join(project, "simulation/transfers.ts")
    expect((await command("simulate", "--file", rules, "--seeds", "1", "--seed", "7")).stdout).toContain(
      "1 scenarios, nothing found"
    )
    // Without its modules it runs all the same.
    const modules = join(project, "node_modules/sluice/dist/cli")
    await rename(modules, `${modules}-away`)
    const { stdout } = await command("config").finally(() => rename(`${modules}-away`, modules))
    expect(stdout).toContain("SLUICE_PORT")
  })

  it(
    "serves from the folder in which it is installed, as an image does, and ends by SIGTERM",
    async () => {
      const serve = async (environment: Readonly<Record<string, string>>) => {
        const port = await freePort()
        const data = await mkdtemp(join(folder, "data-"))
        const settings = {
          ...{ ...environment, NODE_ENV: "production", SLUICE_DATA_DIR: data, SLUICE_SECRETS_KEY: "5e".repeat(32) },
          ...{ SLUICE_HOST: "127.0.0.1", SLUICE_PORT: String(port) }
        }
        const program = join(project, "node_modules/sluice/bin/sluice.js")
        const platform = spawn(node, [program, "serve"], {
          cwd: project,
          env: { PATH: process.env.PATH, ...settings },
          stdio: "pipe"
        })
        const ended = new Promise<number | null>((resolve) => platform.once("exit", resolve))
        try {
          await new Promise<void>((resolve, reject) => {
            platform.stdout.on("data", (chunk) => String(chunk).includes("is ready") && resolve())
            platform.once("exit", (code) => reject(new Error(`it has ended with ${code}`)))
          })
          for (const probe of ["livez", "readyz"])
            expect((await fetch(`http://127.0.0.1:${port}/${probe}`)).status, probe).toBe(200)
          expect(await readdir(data)).toContain("run.json")
        } finally {
          platform.kill("SIGTERM")
        }
        expect(await ended).toBe(0)
      }
      const started = Effect.gen(function* () {
        const { DATABASE_URL, NATS_URL } = yield* servers
        yield* Effect.promise(() => serve({ DATABASE_URL, NATS_URL }))
      })
      await Effect.runPromise(Effect.scoped(started))
    },
    patienceMillis
  )

  it("has a list of its parts that names each of its dependencies, by the command of the guide", async () => {
    const block = blocksOf("docs/release.md").find(({ text }) => text.startsWith("npm sbom"))
    const { stdout } = await shell(block!.text.replace(" > sbom.json", ""), project)
    const { components }: { components: ReadonlyArray<{ name: string; version: string }> } = JSON.parse(stdout)
    const found = new Set(components.map(({ name, version }) => `${name} ${version}`))
    const { dependencies } = JSON.parse(await readFile(join(root, "package.json"), "utf8"))
    const missing = Object.entries(dependencies).filter(([name, version]) => !found.has(`${name} ${version}`))
    expect(missing).toEqual([])
  })

  it("fetches no server while it is installed", async () => {
    expect(await readdir(join(project, "node_modules/sluice/node_modules/.sluice")).catch(() => "nothing")).toBe(
      "nothing"
    )
  })
})
