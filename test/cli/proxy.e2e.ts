/**
 * The configurations of docs/proxy.md, with the real nginx and the real Caddy in front of a platform: TLS, a large request,
 * an event stream.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { request } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { freePort } from "../support/freePort.ts"
import { needing } from "../support/needs.ts"
import { patienceMillis } from "../support/patience.ts"
import { useSharedPlatform } from "../support/sharedPlatform.ts"

const platform = useSharedPlatform()
const guide = readFileSync(new URL("../../docs/proxy.md", import.meta.url), "utf8")
const nginxFile = /```nginx\n# sluice\.conf[^\n]*\n([\s\S]*?)```/.exec(guide)![1]!
const caddyFile = /```[a-z]*\n# Caddyfile\n([\s\S]*?)```/.exec(guide)![1]!
const statusOf = /```sh\n(curl -s https:[^\n]*)\n/.exec(guide)![1]!

const makeCertificate = (folder: string): void => {
  const files = ["-keyout", join(folder, "sluice-key.pem"), "-out", join(folder, "sluice.pem")]
  const subject = ["-subj", "/CN=sluice.example.com", "-addext", "subjectAltName=DNS:sluice.example.com"]
  execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", ...files, ...subject], {
    stdio: "ignore"
  })
}

interface Asked {
  readonly key?: string
  readonly body?: string
  /** A text at which the answer is enough. */
  readonly until?: string
}

/** Asks through a proxy on a port; resolves with the status and the body. */
const askAt =
  (port: number, ca: Buffer) =>
  (path: string, { body, key, until }: Asked) =>
    new Promise<{ readonly status: number; readonly text: string }>((resolve, reject) => {
      const call = request(
        {
          host: "127.0.0.1",
          port,
          servername: "sluice.example.com",
          path,
          ca,
          method: body === undefined ? "GET" : "POST",
          headers: {
            host: "sluice.example.com",
            ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
            ...(body === undefined ? {} : { "content-type": "application/json" })
          }
        },
        (response) => {
          let text = ""
          const end = () => resolve({ status: response.statusCode!, text })
          response.setEncoding("utf8").on("data", (part: string) => {
            text += part
            if (until === undefined || !text.includes(until)) return
            end()
            call.destroy()
          })
          response.on("end", end)
        }
      )
      call.on("error", reject)
      call.end(body)
    })

type AskThere = ReturnType<typeof askAt>

/** Waits until the proxy answers; what it says of a request, a large one, and a stream. */
const serves = async (ask: AskThere, server: ChildProcess): Promise<void> => {
  for (;;) {
    const answer = await ask("/v1/health", {}).catch(() => undefined)
    if (answer !== undefined) {
      expect(answer.status).toBe(200)
      break
    }
    expect(server.exitCode).toBe(null)
  }
  const { key } = await platform().createKey({ services: ["telco", "directory"], scopes: ["*"] })
  // As large as the platform takes, which is more than nginx keeps in memory.
  const large = await ask("/v1/telco/lookups", { key, body: JSON.stringify({ numbers: ["x".repeat(240_000)] }) })
  expect(large.status).toBe(200)
  expect(large.text).toContain("Expected 10 digits")
  const followed = ask("/v1/events/stream", { key, until: "telco.lookup.completed" })
  let isOver = false
  const streamed = followed.finally(() => {
    isOver = true
  })
  while (!isOver) expect((await ask("/v1/telco/lookup/2125560123", { key })).status).toBe(200)
  expect((await streamed).status).toBe(200)
}

/** Runs a proxy while it is used, and the guide's first check through it. */
const withProxy = async (
  program: string,
  args: ReadonlyArray<string>,
  { environment, folder, port }: { environment: NodeJS.ProcessEnv; folder: string; port: number },
  use: (ask: AskThere, server: ChildProcess) => Promise<void>
): Promise<void> => {
  const server = spawn(program, args, { env: environment, stdio: "ignore" })
  const certificate = join(folder, "sluice.pem")
  try {
    await use(askAt(port, readFileSync(certificate)), server)
    const here = ["--cacert", certificate, "--connect-to", `sluice.example.com:443:127.0.0.1:${port}`]
    const words = [...statusOf.split(" ").slice(1), ...here]
    expect(JSON.parse(execFileSync("curl", words, { encoding: "utf8" })).database).toBe("connected")
  } finally {
    const ended = new Promise((resolve) => server.once("exit", resolve))
    server.kill("SIGTERM")
    await ended
  }
}

/** The guide's file for nginx with addresses of this machine in place of its own. */
const adapted = (folder: string, ports: { readonly api: string; readonly tls: number; readonly plain: number }) =>
  nginxFile
    .replace("127.0.0.1:8080", `127.0.0.1:${ports.api}`)
    .replace("listen 443", `listen 127.0.0.1:${ports.tls}`)
    .replace("listen 80;", `listen 127.0.0.1:${ports.plain};`)
    .replaceAll("/etc/nginx/certs", folder)

it("serves the platform over TLS behind nginx, event streams too", {
  ...needing("nginx", "openssl"),
  timeout: patienceMillis
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-nginx-"))
  try {
    const [tls, plain] = [await freePort(), await freePort()]
    makeCertificate(folder)
    const main = join(folder, "nginx.conf")
    writeFileSync(join(folder, "sluice.conf"), adapted(folder, { api: new URL(platform().url).port, tls, plain }))
    writeFileSync(
      main,
      // Its workers need the folder too, which is root's where root runs the tests.
      `${process.getuid?.() === 0 ? "user root; " : ""}daemon off; pid ${folder}/pid; error_log ${folder}/error.log; events {}\nhttp { access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi; uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi; include ${folder}/sluice.conf; }\n`
    )
    const environment = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin` }
    const checked = spawnSync("nginx", ["-t", "-c", main], { encoding: "utf8", env: environment })
    expect(checked.stderr).toContain("test is successful")
    await withProxy("nginx", ["-c", main], { environment, folder, port: tls }, async (ask, server) => {
      await serves(ask, server)
      const moved = await fetch(`http://127.0.0.1:${plain}/docs`, {
        redirect: "manual",
        headers: { host: "sluice.example.com" }
      })
      expect(moved.status).toBe(301)
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

it("serves the platform over TLS behind Caddy, event streams too", {
  ...needing("caddy", "openssl"),
  timeout: patienceMillis
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-caddy-"))
  try {
    const port = await freePort()
    makeCertificate(folder)
    const file = join(folder, "Caddyfile")
    const environment = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
    const check = (text: string) => {
      writeFileSync(file, text)
      const words = ["validate", "--adapter", "caddyfile", "--config", file]
      return spawnSync("caddy", words, { encoding: "utf8", env: environment }).status
    }
    expect(check(caddyFile)).toBe(0)
    expect(check(caddyFile.replace("max_size", "most"))).not.toBe(0)
    // Nobody certifies the name here, and the ports are those of others.
    const certified = `  bind 127.0.0.1\n  tls ${folder}/sluice.pem ${folder}/sluice-key.pem\n`
    const here = caddyFile
      .replace("sluice.example.com {\n", `sluice.example.com:${port} {\n${certified}`)
      .replace("127.0.0.1:8080", `127.0.0.1:${new URL(platform().url).port}`)
    expect(check(`{\n  admin off\n  auto_https off\n}\n${here}`)).toBe(0)
    const words = ["run", "--adapter", "caddyfile", "--config", file]
    await withProxy("caddy", words, { environment, folder, port }, serves)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
