/**
 * The command as who has a checkout calls it, and that nothing we tell people to type fetches the package of a stranger:
 * ours is not in the registry, so its name there is anybody's to take.
 */
import { execFile } from "node:child_process"
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const root = new URL("../..", import.meta.url).pathname
let home: string

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "sluice-commands-"))
})
afterAll(() => rm(home, { recursive: true, force: true }))

/** Runs a program to its end; the environment has a home of its own and no registry but the one that is named. */
const run = (program: string, args: ReadonlyArray<string>, cwd: string, registry = "http://127.0.0.1:9/") =>
  new Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>((resolve) => {
    const env = { PATH: process.env.PATH, HOME: home, npm_config_registry: registry, npm_config_fetch_retries: "0" }
    const child = execFile(program, args, { cwd, env }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr })
    )
  })

describe("npx sluice in a checkout", () => {
  it.each([
    ["sluice"],
    ["--no-install", "sluice"]
  ])("runs this code and says nothing else (npx %s)", async (...words) => {
    expect(await run("npx", [...words, "--version"], root)).toEqual({ code: 0, stdout: "sluice 0.1.0\n", stderr: "" })
  })

  it("hands on what the command says and how it ends", async () => {
    const { code, stderr, stdout } = await run(join(root, "bin/sluice.js"), ["no-such-command"], home)
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
    expect(stderr).toMatch(/^sluice: /)
  })
})

describe("what we tell people to type", () => {
  /** Everything that people read: README, documents, the API's description, and every text of the program. */
  const texts = async () => {
    const sources = await readdir(join(root, "src"), { recursive: true })
    const documents = await readdir(join(root, "docs"), { recursive: true })
    const files = ["README.md", "openapi.json"]
      .concat(documents.filter((file) => file.endsWith(".md")).map((file) => join("docs", file)))
      .concat(sources.filter((file) => file.endsWith(".ts")).map((file) => join("src", file)))
    return Promise.all(files.map(async (file) => ({ file, text: await readFile(join(root, file), "utf8") })))
  }

  it("never lets npx fetch, and installs ours from a file", async () => {
    for (const { file, text } of await texts()) {
      // "npx sluice runs its code in a checkout" is said once, as what it is; a block of commands has no such exception.
      const blocks =
        file === "README.md" ? [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => block!) : [text]
      for (const block of blocks) {
        for (const [command] of block.matchAll(/\b(?:npx|npm exec|npm x)\b.*\bsluice\b.*/g)) {
          expect(command, file).toMatch(/^npx --no-install sluice\b/)
        }
        for (const [command] of block.matchAll(/\bnpm (?:install|i|add)\b.*/g)) {
          expect(command, file).not.toMatch(/\ssluice(?:@\S*)?(?:\s|$)/)
        }
      }
    }
  })

  it("outside a checkout, the README's npx fetches nothing even where a stranger has taken the name", async () => {
    let fetched = 0
    const server = createServer((request, response) => {
      const own = `http://${request.headers.host}`
      if (request.url !== "/sluice") {
        fetched++
        return response.writeHead(404).end("{}")
      }
      const manifest = { name: "sluice", version: "9.9.9", bin: { sluice: "x.js" }, dist: { tarball: `${own}/x.tgz` } }
      response.setHeader("content-type", "application/json")
      return response.end(
        JSON.stringify({ name: "sluice", "dist-tags": { latest: "9.9.9" }, versions: { "9.9.9": manifest } })
      )
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    try {
      const registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
      const { code, stderr } = await run("npx", ["--no-install", "sluice", "--version"], home, registry)
      expect(code).not.toBe(0)
      expect(stderr).toContain("npx canceled")
      expect(fetched).toBe(0)
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })
})
