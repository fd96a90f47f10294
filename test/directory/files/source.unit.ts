import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import type { IncomingMessage, ServerResponse } from "node:http"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { type Limits, SourceLimits } from "../../../src/directory/files/limits.ts"
import { fixture, fixturePath, readSource, serve, zip } from "./support.ts"

const nanpa = fixture("nanpa-2026.txt")
const cnac = fixture("cnac-8-columns-902.csv.gz")

/** A path in a temporary folder that goes with the test, holding `content`. */
const file = Effect.fnUntraced(function* (name: string, content: Uint8Array) {
  const folder = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}, Effect.provide(NodeFileSystem.layer))

const failure = (source: string) => Effect.flip(readSource(source))

const unreadable = Effect.fnUntraced(function* (source: string) {
  const error = yield* failure(source)
  if (error._tag !== "SourceUnreadable") throw new Error(`expected an unreadable source, not ${error.message}`)
  return error
})

const limited = (change: Partial<Limits>) =>
  Effect.updateService(SourceLimits, (limits): Limits => ({ ...limits, ...change }))

describe("a path", () => {
  it.live("[directory 6.1] may hold a file plain, in gzip, in several gzip members, or in a zip archive", () =>
    Effect.gen(function* () {
      const gzip = Buffer.concat([gzipSync(nanpa.subarray(0, 1_000)), gzipSync(nanpa.subarray(1_000))])
      const paths = [
        fixturePath("nanpa-2026.txt"),
        yield* file("codes.html", gzipSync(nanpa)),
        yield* file("codes", gzip),
        yield* file("codes.csv", zip([{ name: "readme.exe", content: nanpa }]))
      ]
      const results = yield* Effect.forEach(paths, readSource)
      for (const { codes, summaries } of results) {
        assert.strictEqual(codes.length, 29)
        assert.strictEqual(summaries[0]!.sha256, results[0]!.summaries[0]!.sha256)
      }
    })
  )

  it.live("of a zip archive gives every file that is recognised and names the others", () =>
    Effect.gen(function* () {
      const path = yield* file(
        "all.zip",
        zip([
          { name: "folder/", content: Buffer.alloc(0) },
          { name: "folder/readme.txt", content: Buffer.from("Read me") },
          { name: "folder/ca.csv", content: cnac },
          { name: "secret.csv", content: cnac, encrypted: true },
          { name: "us.txt", content: nanpa }
        ])
      )
      const { codes, opened, summaries } = yield* readSource(path)
      assert.deepStrictEqual(
        summaries.map(({ kind, records, source }) => ({ kind, records, source })),
        [
          { kind: "CNAC", records: 800, source: `${path}: folder/ca.csv` },
          { kind: "NANPA", records: 29, source: `${path}: us.txt` }
        ]
      )
      assert.strictEqual(codes.length, 829)
      assert.deepStrictEqual(
        opened.skipped.map(({ name }) => name),
        [`${path}: secret.csv`, `${path}: folder/readme.txt`]
      )
      assert.strictEqual(opened.skipped[0]!.reason, "is encrypted")
    })
  )

  it.live("with nothing that is recognised says what was seen", () =>
    Effect.gen(function* () {
      const archive = yield* failure(
        yield* file("a.zip", zip([{ name: "a.txt", content: Buffer.from("<html>no</html>") }]))
      )
      assert.strictEqual(archive._tag, "NotRecognized")
      assert.match(
        archive.message,
        /a\.zip: a\.txt is no file of the number directory .*an HTML or XML page; it begins with "<html>no<\/html>"$/
      )
      const empty = yield* failure(yield* file("b.zip", zip([])))
      assert.match(empty.message, /b\.zip: the archive has no files$/)
      const nothing = yield* failure(yield* file("c.gz", gzipSync("")))
      assert.match(nothing.message, /c\.gz is no file .*, but empty$/)
    })
  )

  it.live("that cannot be read says why", () =>
    Effect.gen(function* () {
      const missing = yield* unreadable("/no/such/file.txt")
      assert.deepInclude(missing, { reason: "NotFound", message: "/no/such/file.txt: there is no such file" })
      assert.strictEqual((yield* unreadable(fixturePath(""))).reason, "NotAFile")
      assert.strictEqual((yield* unreadable("ftp://example.org/a")).reason, "UnsupportedAddress")
      assert.strictEqual((yield* unreadable("http://")).reason, "UnsupportedAddress")
      const endless = yield* unreadable("/dev/zero").pipe(limited({ packedBytes: 1_000_000 }))
      assert.strictEqual(endless.reason, "TooLarge")
    })
  )

  it.live("may be a pipe", () =>
    Effect.gen(function* () {
      const folder = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
      const pipe = join(folder, "pipe")
      execFileSync("mkfifo", [pipe])
      const written = writeFile(pipe, gzipSync(cnac))
      assert.strictEqual((yield* readSource(pipe)).codes.length, 800)
      yield* Effect.promise(() => written)
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))
  )

  it.live("of a gzip file that was cut anywhere or damaged fails", () =>
    Effect.gen(function* () {
      const packed = gzipSync(cnac)
      for (const end of [20, 1_000, packed.length - 9, packed.length - 8, packed.length - 1]) {
        const error = yield* unreadable(yield* file("cut.gz", packed.subarray(0, end)))
        assert.strictEqual(error.reason, "Truncated", `cut at ${end}`)
      }
      const damaged = Buffer.from(packed)
      damaged[packed.length - 6]! ^= 0xff
      assert.strictEqual((yield* unreadable(yield* file("bad.gz", damaged))).reason, "Corrupt")
    })
  )

  it.live("of a zip archive that was cut or damaged fails", () =>
    Effect.gen(function* () {
      const packed = zip([{ name: "ca.csv", content: cnac }])
      assert.strictEqual((yield* unreadable(yield* file("cut.zip", packed.subarray(0, 3_000)))).reason, "Corrupt")
      const wrongSum = Buffer.from(packed)
      // The checksum in the central directory, 16 bytes into its entry.
      wrongSum[packed.indexOf("PK\u0001\u0002", 0, "latin1") + 16]! ^= 0xff
      assert.strictEqual((yield* unreadable(yield* file("sum.zip", wrongSum))).reason, "Corrupt")
      const wrongSize = Buffer.from(packed)
      wrongSize[packed.indexOf("PK\u0001\u0002", 0, "latin1") + 24]! ^= 0x01
      assert.strictEqual((yield* unreadable(yield* file("size.zip", wrongSize))).reason, "Corrupt")
    })
  )

  it.live("that unpacks to more than the limit fails, in gzip and in zip", () =>
    Effect.gen(function* () {
      const bomb = Buffer.concat([nanpa, Buffer.alloc(5_000_000)])
      const paths = [yield* file("a.gz", gzipSync(bomb)), yield* file("a.zip", zip([{ name: "a", content: bomb }]))]
      for (const path of paths) {
        const error = yield* unreadable(path).pipe(limited({ unpackedBytes: 1_000_000 }))
        assert.strictEqual(error.reason, "TooLarge")
      }
      const large = yield* unreadable(yield* file("large.txt", nanpa)).pipe(limited({ packedBytes: 1_000 }))
      assert.strictEqual(large.reason, "TooLarge")
      const many = zip(Array.from({ length: 300 }, (_, n) => ({ name: `${n}`, content: Buffer.from("x") })))
      assert.strictEqual((yield* unreadable(yield* file("many.zip", many))).reason, "TooLarge")
    })
  )
})

describe("an address", () => {
  const answer =
    (content: Uint8Array, headers: Record<string, string> = {}) =>
    (_: IncomingMessage, response: ServerResponse) => {
      response.writeHead(200, headers).end(content)
    }

  it.live("is read like a file, packed or not, and by redirects", () =>
    Effect.gen(function* () {
      const address = yield* serve((request, response) => {
        if (request.url === "/moved") response.writeHead(302, { location: "/codes.zip?a=b" }).end()
        else if (request.url === "/coded") answer(gzipSync(nanpa), { "content-encoding": "gzip" })(request, response)
        else answer(request.url === "/plain" ? nanpa : zip([{ name: "a", content: nanpa }]))(request, response)
      })
      for (const path of ["/plain", "/coded", "/codes.zip", "/moved"]) {
        assert.strictEqual((yield* readSource(`${address}${path}`)).codes.length, 29, path)
      }
    }).pipe(Effect.scoped)
  )

  it.live("may carry credentials, which no message repeats", () =>
    Effect.gen(function* () {
      const seen: Array<string | undefined> = []
      const address = yield* serve((request, response) => {
        seen.push(request.headers.authorization)
        response.writeHead(request.url === "/codes?key=hidden" ? 404 : 200).end(nanpa)
      })
      const withSecrets = address.replace("//", "//user:p%40ss@")
      assert.strictEqual((yield* readSource(`${withSecrets}/ok?key=hidden`)).opened.source, `${address}/ok`)
      const error = yield* unreadable(`${withSecrets}/codes?key=hidden#x`)
      assert.deepInclude(error, {
        reason: "HttpStatus",
        source: `${address}/codes`,
        message: `${address}/codes: the server answered with status 404`
      })
      assert.deepStrictEqual(
        seen,
        Array.from({ length: 2 }, () => `Basic ${btoa("user:p@ss")}`)
      )
    }).pipe(Effect.scoped)
  )

  it.live("that gives an HTML page with status 200 is not recognised", () =>
    Effect.gen(function* () {
      const address = yield* serve(answer(Buffer.from("<!DOCTYPE html><html>")))
      const error = yield* failure(`${address}/COCodeStatus_NPA000.csv`)
      assert.strictEqual(error._tag, "NotRecognized")
      assert.match(error.message, /an HTML or XML page/)
    }).pipe(Effect.scoped)
  )

  it.live("that cannot be read says why", () =>
    Effect.gen(function* () {
      const address = yield* serve((request, response) => {
        switch (request.url) {
          case "/loop":
            return response.writeHead(302, { location: "/loop" }).end()
          case "/large":
            return response.writeHead(200).end(Buffer.alloc(200_000))
          case "/announced":
            return response.writeHead(200, { "content-length": "100000000" }).end()
          case "/cut":
            response.writeHead(200, { "content-length": `${cnac.length}` }).write(cnac.subarray(0, 30_000))
            return setImmediate(() => response.destroy())
          case "/stalls":
            return response.writeHead(200).write(cnac.subarray(0, 30_000))
          case "/silent":
            return undefined
          default:
            return response.writeHead(500).end("x".repeat(1_000))
        }
      })
      const bounds = limited({ packedBytes: 100_000 })
      // Only where there is nothing to come: a busy machine may be slower with the others.
      const soon = limited({ idleTimeoutMillis: 100, responseTimeoutMillis: 200 })
      const reasonOf = (path: string, limits = bounds) =>
        unreadable(`${address}${path}`).pipe(
          limits,
          Effect.map((error) => error.reason)
        )
      assert.strictEqual(yield* reasonOf("/loop"), "TooManyRedirects")
      assert.strictEqual(yield* reasonOf("/large"), "TooLarge")
      assert.strictEqual(yield* reasonOf("/announced"), "TooLarge")
      assert.strictEqual(yield* reasonOf("/cut"), "Truncated")
      assert.strictEqual(yield* reasonOf("/stalls", soon), "Timeout")
      assert.strictEqual(yield* reasonOf("/silent", soon), "Timeout")
      assert.strictEqual(yield* reasonOf("/error"), "HttpStatus")
      const total = yield* unreadable(`${address}/stalls`).pipe(limited({ downloadTimeoutMillis: 50 }))
      assert.strictEqual(total.reason, "Timeout")
    }).pipe(Effect.scoped)
  )

  it.live("where nobody listens says so", () =>
    Effect.gen(function* () {
      const address = yield* Effect.scoped(serve(() => {}))
      assert.deepInclude(yield* unreadable(`${address}/a`), {
        reason: "Connection",
        message: `${address}/a: the server cannot be reached (ECONNREFUSED)`
      })
    })
  )

  it.live("leaves no temporary file behind", () =>
    Effect.gen(function* () {
      const folder = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
      const before = process.env.TMPDIR
      process.env.TMPDIR = folder
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          if (before === undefined) delete process.env.TMPDIR
          else process.env.TMPDIR = before
        })
      )
      const address = yield* serve((request, response) =>
        answer(request.url === "/good" ? nanpa : Buffer.from("x"))(request, response)
      )
      yield* readSource(`${address}/good`)
      yield* failure(`${address}/bad`)
      yield* unreadable(`${address}/large`).pipe(limited({ packedBytes: 0 }))
      assert.deepStrictEqual(yield* (yield* FileSystem.FileSystem).readDirectory(folder), [])
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))
  )
})
