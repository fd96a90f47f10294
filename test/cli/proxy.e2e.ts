/** The nginx configuration of docs/proxy.md, with the real nginx in front of a platform: TLS, a large request, an event stream. */
import { execFileSync, spawn, spawnSync } from "node:child_process"
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
const written = /```nginx\n# sluice\.conf[^\n]*\n([\s\S]*?)```/.exec(guide)![1]!

const makeCertificate = (folder: string): void => {
  const files = ["-keyout", join(folder, "sluice-key.pem"), "-out", join(folder, "sluice.pem")]
  const subject = ["-subj", "/CN=sluice.example.com", "-addext", "subjectAltName=DNS:sluice.example.com"]
  execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", ...files, ...subject], {
    stdio: "ignore"
  })
}

/** The guide's file with addresses of this machine in place of its own. */
const adapted = (folder: string, ports: { readonly api: string; readonly tls: number; readonly plain: number }) =>
  written
    .replace("127.0.0.1:8080", `127.0.0.1:${ports.api}`)
    .replace("listen 443", `listen 127.0.0.1:${ports.tls}`)
    .replace("listen 80;", `listen 127.0.0.1:${ports.plain};`)
    .replaceAll("/etc/nginx/certs", folder)

it("serves the platform over TLS behind nginx, event streams too", {
  ...needing("nginx", "openssl"),
  timeout: patienceMillis
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-nginx-"))
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
  const server = spawn("nginx", ["-c", main], { env: environment, stdio: "ignore" })
  const ca = readFileSync(join(folder, "sluice.pem"))
  /** Asks through the proxy; resolves with the status and the body, or with as much of it as holds the text. */
  const ask = (path: string, options: { readonly key?: string; readonly body?: string; readonly until?: string }) =>
    new Promise<{ readonly status: number; readonly text: string }>((resolve, reject) => {
      const { body, key, until } = options
      const call = request(
        {
          host: "127.0.0.1",
          port: tls,
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
  try {
    for (;;) {
      const answer = await ask("/v1/health", {}).catch(() => undefined)
      if (answer !== undefined) {
        expect(answer.status).toBe(200)
        break
      }
      expect(server.exitCode).toBe(null)
    }
    const moved = await fetch(`http://127.0.0.1:${plain}/docs`, {
      redirect: "manual",
      headers: { host: "sluice.example.com" }
    })
    expect(moved.status).toBe(301)
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
  } finally {
    const ended = new Promise((resolve) => server.once("exit", resolve))
    server.kill("SIGTERM")
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
})
