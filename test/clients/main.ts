/**
 * `npm run test:clients`: starts a platform with its own servers, and runs the tests of the clients against it, through
 * a proxy that lets each POST fail once after the platform has carried it out, and the programs of clients/README.md and
 * docs/quickstart.md. The documents' programs are checked with the oldest and the newest TypeScript. A language that is
 * not installed is not run. The last line is "N passed, N failed".
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { runGuide } from "./guide.ts"
import { installOldestNode, oldestVersion, runOnOldest } from "./oldestNode.ts"
import { runSample } from "./readme.ts"
import { checkWith, installTypeScript, oldestTypeScript } from "./typescriptVersions.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))

const startMillis = 120_000

interface Started {
  readonly url: string
  readonly key: string
  readonly child: ChildProcess
}

const startPlatform = (folder: string): Promise<Started> =>
  new Promise((resolve, reject) => {
    const environment = { SLUICE_DEVELOPMENT: "on", SLUICE_PORT: "0", SLUICE_DATA_DIR: folder }
    const child = spawn(process.execPath, [join(root, "bin/sluice.js"), "serve"], {
      env: { ...process.env, ...environment },
      stdio: ["ignore", "pipe", "pipe"]
    })
    let output = ""
    const timer = setTimeout(() => reject(new Error(`The platform is not ready\n${output}`)), startMillis)
    const hear = (text: string) => {
      output += text
      const url = /API +(http\S+)/.exec(output)?.[1]
      const key = /Key +(sk_\S+)/.exec(output)?.[1]
      if (url === undefined || key === undefined) return
      clearTimeout(timer)
      resolve({ url, key, child })
    }
    child.stdout.setEncoding("utf8").on("data", hear)
    child.stderr.setEncoding("utf8").on("data", hear)
    child.once("exit", () => reject(new Error(`The platform has ended\n${output}`)))
  })

/** The first answer to each POST is lost; the repeat must have the same key, and get what the first one would have. */
const startProxy = async (url: string) => {
  const keys: Array<string> = []
  const lost = new Set<string>()
  let replayed = 0
  const forward = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { authorization, "content-type": type, "idempotency-key": key } = request.headers
    const method = request.method!
    const headers = Object.fromEntries(
      Object.entries({ authorization, "content-type": type, "idempotency-key": key as string | undefined }).filter(
        (pair): pair is [string, string] => pair[1] !== undefined
      )
    )
    const answer = await fetch(`${url}${request.url}`, {
      method,
      headers,
      ...(method === "GET" ? {} : { body: Buffer.concat(chunks) })
    })
    const body = Buffer.from(await answer.arrayBuffer())
    if (method === "POST" && !lost.has(`${key}`)) {
      keys.push(`${key}`)
      lost.add(`${key}`)
      response.writeHead(503, { "retry-after": "0", "content-type": "application/json" })
      response.end(JSON.stringify({ error: { code: "unavailable", message: "Lost" } }))
      return
    }
    if (answer.headers.get("idempotency-replayed") === "true") replayed++
    const shown = ["content-type", "x-request-id", "retry-after"].flatMap((name) => {
      const value = answer.headers.get(name)
      return value === null ? [] : [[name, value] as const]
    })
    response.writeHead(answer.status, Object.fromEntries(shown)).end(body)
  }
  /** The keys of lost answers, and how many repeats were replayed, since it was asked last. */
  const seen = () => {
    const result = { keys: keys.splice(0), replayed }
    replayed = 0
    return result
  }
  const server = createServer((request, response) => {
    forward(request, response).catch((error: unknown) => response.writeHead(502).end(String(error)))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, server, seen }
}

const isThere = (program: string): boolean => {
  try {
    execFileSync(program, [program === "go" ? "version" : "--version"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

interface Client {
  readonly program: string
  readonly args: ReadonlyArray<string>
  readonly folder: string
  /** Lines of checks that held. */
  readonly line: RegExp
  readonly install: string
}

const clients: Readonly<Record<string, Client>> = {
  TypeScript: {
    program: process.execPath,
    args: ["clients/typescript/client.test.ts"],
    folder: root,
    line: /^\w/,
    install: ""
  },
  Python: {
    program: "python3",
    args: ["clients/python/client_test.py"],
    folder: root,
    line: /^\w/,
    install: "python3"
  },
  Go: {
    program: "go",
    args: ["test", "-count=1", "-v", "./..."],
    folder: join(root, "clients/go"),
    line: /^--- PASS/,
    install: "golang-go"
  }
}

const runClient = ({ args, folder, program }: Client, environment: Record<string, string>) =>
  new Promise<{ readonly code: number; readonly output: string }>((resolve) => {
    const child = spawn(program, args, { cwd: folder, env: { ...process.env, ...environment } })
    let output = ""
    const hear = (text: string) => {
      output += text
    }
    child.stdout.setEncoding("utf8").on("data", hear)
    child.stderr.setEncoding("utf8").on("data", hear)
    child.once("close", (code) => resolve({ code: code ?? 1, output }))
  })

/** The languages of the guide: the program of each, and the Debian package that brings it. */
const languages = {
  curl: ["curl", "curl"],
  Node: [process.execPath, ""],
  Python: ["python3", "python3"],
  PHP: ["php", "php-cli"],
  Go: ["go", "golang-go"]
} as const

/** Creates a key of test mode for the organization of a key. */
const testKeyOf = async (folder: string, url: string, key: string): Promise<string> => {
  const answer = await fetch(`${url}/v1/console/session`, { headers: { authorization: `Bearer ${key}` } })
  const { organization } = (await answer.json()) as { readonly organization: { readonly id: string } | string }
  const org = typeof organization === "string" ? organization : organization.id
  const words = ["keys", "create", "--org", org, "--services", "send", "--scopes", "*", "--test", "--json"]
  const printed = execFileSync(process.execPath, [join(root, "bin/sluice.js"), ...words], {
    env: { ...process.env, SLUICE_DATA_DIR: folder },
    encoding: "utf8"
  })
  return (JSON.parse(printed) as { readonly key: string }).key
}

const folder = mkdtempSync(join(tmpdir(), "sluice-clients-"))
let passed = 0
let failed = 0
const count = (run: { readonly passed: number; readonly failures: ReadonlyArray<string> }): void => {
  passed += run.passed
  failed += run.failures.length
  for (const failure of run.failures) console.log(failure)
}
const platform = await startPlatform(folder)
const proxy = await startProxy(platform.url)
try {
  for (const [name, client] of Object.entries(clients)) {
    if (client.install !== "" && !isThere(client.program)) {
      failed++
      console.log(`not run: ${name} (${client.install})`)
      continue
    }
    const environment = { API: proxy.url, KEY: platform.key, FROM: "Ann <ann@demo.test>" }
    const { code, output } = await runClient(client, environment)
    const held = output.split("\n").filter((line) => client.line.test(line)).length
    const { keys, replayed } = proxy.seen()
    const isOnce = keys.length > 0 && keys.every((key) => key !== "undefined") && replayed >= keys.length
    if (code === 0 && isOnce) passed += held + 1
    else {
      failed++
      console.log(`${name} failed${isOnce ? "" : ", or did not repeat a lost answer under its key"}:\n${output}`)
    }
    count(runSample(name, { url: platform.url, key: platform.key }))
  }
  const testKey = await testKeyOf(folder, platform.url, platform.key)
  for (const [language, [program, name]] of Object.entries(languages)) {
    if (!isThere(program)) {
      failed++
      console.log(`not run: docs/quickstart.md in ${language} (${name})`)
      continue
    }
    count(await runGuide(language, { url: platform.url, key: platform.key, testKey }))
  }
  const oldest = installOldestNode(join(folder, "oldest"))
  if (oldest === undefined) {
    failed++
    console.log(`not run: the documents on Node ${oldestVersion} (its package)`)
  } else {
    count(runOnOldest(oldest))
    count(await runGuide("Node", { url: platform.url, key: platform.key, testKey }, oldest))
  }
  const compilers = [oldestTypeScript, "latest"].flatMap((version) => {
    const tsc = installTypeScript(join(folder, `typescript-${version}`), version)
    if (tsc !== undefined) return [[`TypeScript ${version}`, tsc] as const]
    failed++
    console.log(`not run: the documents with TypeScript ${version} (its package)`)
    return []
  })
  if (compilers.length > 0) count(checkWith(compilers))
} finally {
  proxy.server.close()
  proxy.server.closeAllConnections()
  const ended = new Promise((resolve) => platform.child.once("exit", resolve))
  platform.child.kill("SIGTERM")
  await ended
  rmSync(folder, { recursive: true, force: true })
}
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
