/**
 * The published package, as a stranger gets it: packed, installed into an empty project together with its peers, checked
 * by the compiler and run from JavaScript, because Node strips no types under node_modules.
 */
import { execFile } from "node:child_process"
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const run = promisify(execFile)
const root = new URL("../..", import.meta.url).pathname
const node = process.execPath
const npm = process.env.npm_execpath

/** npm itself, run by this Node. */
const npmRun = (args: ReadonlyArray<string>, cwd: string) =>
  npm === undefined ? run("npm", args, { cwd }) : run(node, [npm, ...args], { cwd })

describe("the packed package", () => {
  let project: string
  let files: ReadonlyArray<string>

  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), "sluice-package-"))
    const { stdout } = await npmRun(["pack", "--json", "--pack-destination", project], root)
    const json = stdout.slice(stdout.indexOf("["))
    const packed = (JSON.parse(json) as ReadonlyArray<{ filename: string; files: ReadonlyArray<{ path: string }> }>)[0]!
    files = packed.files.map((file) => file.path)
    const { version: effect } = JSON.parse(await readFile(join(root, "node_modules/effect/package.json"), "utf8")) as {
      version: string
    }
    await writeFile(
      join(project, "package.json"),
      JSON.stringify({
        name: "stranger",
        private: true,
        type: "module",
        dependencies: { sluice: `file:${packed.filename}`, effect, "@effect/platform-node": effect },
        devDependencies: { typescript: "7.0.2", "@types/node": "24.19.2" }
      })
    )
    await npmRun(["install", "--no-audit", "--no-fund"], project)
  })

  afterAll(() => rm(project, { recursive: true, force: true }))

  it("holds the build, nats.conf, the data with its notice and nothing of the workshop", () => {
    expect(files).toContain("dist/main.js")
    expect(files).toContain("dist/index.d.ts")
    expect(files).toContain("dist/directory/data/NOTICE")
    expect(files).toContain("nats.conf")
    expect(files).toContain("LICENSE")
    expect(files).toContain("README.md")
    expect(
      files.filter((file) => file.startsWith("src/") || file.startsWith("test/") || file.endsWith(".tsbuildinfo"))
    ).toEqual([])
  })

  it("shares one effect with its user", async () => {
    expect(await readdir(join(project, "node_modules/sluice/node_modules")).catch(() => [])).not.toContain("effect")
  })

  it("type-checks and runs in an empty project", async () => {
    await writeFile(
      join(project, "tsconfig.json"),
      JSON.stringify({
        compilerOptions: {
          module: "nodenext",
          target: "es2024",
          lib: ["es2024"],
          types: ["node"],
          strict: true,
          skipLibCheck: true,
          noEmit: true
        },
        include: ["use.ts"]
      })
    )
    await writeFile(
      join(project, "use.ts"),
      `import { Effect } from "effect"
import { SluiceClient } from "sluice/client"
import { Directory } from "sluice/directory"

const program = Effect.gen(function* () {
  const directory = yield* Directory
  const carrier = yield* directory.carrier("9104")
  return carrier.company_name
})

const name = await Effect.runPromise(program.pipe(Effect.provide(Directory.layerBundled)))
console.log(name, typeof SluiceClient.layer({ baseUrl: "http://127.0.0.1:1", apiKey: "x" }))
`
    )
    await run(node, [join(project, "node_modules/typescript/bin/tsc"), "-p", project])
    const { stdout } = await run(node, [join(project, "use.ts")], { cwd: project })
    expect(stdout.trim()).toBe("VERIZON NEW YORK, INC. object")
  })

  it("has a command that runs", async () => {
    const { stdout } = await run(node, [join(project, "node_modules/sluice/dist/main.js"), "--version"])
    expect(stdout).toContain("0.1.0")
  })
})
