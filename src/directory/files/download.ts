/**
 * Brings a source to a file of this machine: it uses a regular file in place, and copies a download, a pipe or a device
 * to a temporary file, within the limits, before anything reads it. So a slow or broken transfer never holds a database
 * transaction open, and a zip archive can be read from its end. Needs `FileSystem`, and `HttpClient` for addresses.
 */
import { createReadStream } from "node:fs"
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Context, Effect, FileSystem, type PlatformError, type Scope, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { type SourceFault, SourceUnreadable } from "./errors.ts"
import { type Limits, SourceLimits } from "./limits.ts"

/** A regular file that can be read more than once. */
export interface LocalFile {
  readonly path: string
  /** Bytes. */
  readonly size: number
  /** The name of the source in messages. */
  readonly source: string
}

const addressPattern = /^([a-z][a-z0-9+.-]*):\/\//i

/** Whether a source is an address of any scheme, not a path. A scheme that cannot be fetched is refused by name. */
export const isAddress = (source: string): boolean => addressPattern.test(source)

/** The name of a source in messages and logs: an address without its credentials, query and fragment. */
export const sourceName = (source: string): string => {
  if (!addressPattern.test(source)) return source
  if (!URL.canParse(source)) return source.replace(/\/\/[^/]*@/, "//").replace(/[?#].*$/s, "")
  const url = new URL(source)
  return `${url.protocol}//${url.host}${url.pathname}`
}

const faultOfPlatform = (error: PlatformError.PlatformError): SourceFault => {
  switch (error.reason._tag) {
    case "NotFound":
      return "NotFound"
    case "TimedOut":
      return "Timeout"
    default:
      return "NotReadable"
  }
}

const sentenceOfPlatform = (error: PlatformError.PlatformError): string => {
  switch (error.reason._tag) {
    case "NotFound":
      return "there is no such file"
    case "PermissionDenied":
      return "this user may not read it"
    default:
      return `it cannot be read (${error.reason._tag})`
  }
}

const unreadable = (source: string, reason: SourceFault, sentence: string): SourceUnreadable =>
  new SourceUnreadable({ source, reason, message: `${source}: ${sentence}` })

/** The innermost code of a failure (`ENOTFOUND`, `ECONNREFUSED`); unlike its text it holds no part of an address. */
const codeOf = (cause: unknown): string => {
  let code = "unknown error"
  for (let at = cause; at instanceof Error; at = at.cause) {
    if ("code" in at && typeof at.code === "string") code = at.code
  }
  return code
}

const tooLarge = (source: string, limits: Limits): SourceUnreadable =>
  unreadable(source, "TooLarge", `it is larger than ${limits.packedBytes} bytes`)

const tookTooLong = (source: string, limits: Limits): SourceUnreadable =>
  unreadable(source, "Timeout", `the transfer took longer than ${limits.downloadTimeoutMillis} ms`)

/** Fails when nothing comes for too long. */
const inTime = (
  bytes: Stream.Stream<Uint8Array, SourceUnreadable>,
  source: string,
  limits: Limits
): Stream.Stream<Uint8Array, SourceUnreadable> =>
  Stream.timeoutOrElse(bytes, {
    duration: limits.idleTimeoutMillis,
    orElse: () =>
      Stream.fail(unreadable(source, "Timeout", `the transfer stood still for ${limits.idleTimeoutMillis} ms`))
  })

/** Fails when more than the limit comes. */
const bounded = <E>(
  bytes: Stream.Stream<Uint8Array, E>,
  source: string,
  limits: Limits
): Stream.Stream<Uint8Array, E | SourceUnreadable> =>
  Stream.suspend(() => {
    let total = 0
    return Stream.mapEffect(bytes, (chunk) => {
      total += chunk.byteLength
      return total > limits.packedBytes ? Effect.fail(tooLarge(source, limits)) : Effect.succeed(chunk)
    })
  })

/** Copies bytes to a temporary file that goes with the scope. */
const copyToTemporaryFile = Effect.fnUntraced(function* (
  bytes: Stream.Stream<Uint8Array, SourceUnreadable>,
  source: string
): Effect.fn.Return<LocalFile, SourceUnreadable, FileSystem.FileSystem | Scope.Scope> {
  const fileSystem = yield* FileSystem.FileSystem
  const asUnreadable = Effect.mapError((error: PlatformError.PlatformError | SourceUnreadable) =>
    error._tag === "SourceUnreadable"
      ? error
      : unreadable(source, "NotReadable", `no temporary copy can be written (${error.reason._tag})`)
  )
  const path = yield* fileSystem.makeTempFileScoped({ prefix: "sluice-" }).pipe(asUnreadable)
  yield* Stream.run(bytes, fileSystem.sink(path)).pipe(asUnreadable)
  const { size } = yield* fileSystem.stat(path).pipe(asUnreadable)
  return { path, size: Number(size), source }
})

const localFile = Effect.fnUntraced(function* (
  path: string
): Effect.fn.Return<LocalFile, SourceUnreadable, FileSystem.FileSystem | Scope.Scope> {
  const fileSystem = yield* FileSystem.FileSystem
  const limits = yield* SourceLimits
  const asUnreadable = Effect.mapError((error: PlatformError.PlatformError) =>
    unreadable(path, faultOfPlatform(error), sentenceOfPlatform(error))
  )
  const { size, type } = yield* fileSystem.stat(path).pipe(asUnreadable)
  if (type === "Directory") return yield* unreadable(path, "NotAFile", "it is a directory, not a file")
  if (type !== "File") {
    // FileSystem reads at positions, which a pipe does not have.
    const bytes = NodeStream.fromReadable<Uint8Array, SourceUnreadable>({
      evaluate: () => createReadStream(path),
      onError: (error) => unreadable(path, "NotReadable", `it cannot be read (${codeOf(error)})`)
    })
    return yield* copyToTemporaryFile(bounded(inTime(bytes, path, limits), path, limits), path).pipe(
      Effect.timeoutOrElse({
        duration: limits.downloadTimeoutMillis,
        orElse: () => Effect.fail(tookTooLong(path, limits))
      })
    )
  }
  if (Number(size) > limits.packedBytes) return yield* tooLarge(path, limits)
  return { path, size: Number(size), source: path }
})

const request = (url: URL): HttpClientRequest.HttpClientRequest => {
  const { password, username } = url
  url.username = ""
  url.password = ""
  const plain = HttpClientRequest.get(url)
  return username === "" && password === ""
    ? plain
    : HttpClientRequest.basicAuth(plain, decodeURIComponent(username), decodeURIComponent(password))
}

const downloaded = Effect.fnUntraced(function* (
  address: string
): Effect.fn.Return<LocalFile, SourceUnreadable, FileSystem.FileSystem | HttpClient.HttpClient | Scope.Scope> {
  const source = sourceName(address)
  const limits = yield* SourceLimits
  const scheme = addressPattern.exec(address)?.[1]?.toLowerCase()
  if (scheme !== "http" && scheme !== "https") {
    return yield* unreadable(source, "UnsupportedAddress", "only http and https addresses are read")
  }
  if (!URL.canParse(address)) return yield* unreadable(source, "UnsupportedAddress", "it is no valid address")
  const client = (yield* HttpClient.HttpClient).pipe(HttpClient.followRedirects(limits.redirects))
  const timedOut = (what: string) => unreadable(source, "Timeout", what)

  const transfer = Effect.gen(function* () {
    const response = yield* client.execute(request(new URL(address))).pipe(
      Effect.mapError((error) => unreadable(source, "Connection", `the server cannot be reached (${codeOf(error)})`)),
      Effect.timeoutOrElse({
        duration: limits.responseTimeoutMillis,
        orElse: () => Effect.fail(timedOut(`the server did not answer within ${limits.responseTimeoutMillis} ms`))
      })
    )
    if (response.status >= 300 && response.status < 400 && response.headers.location !== undefined) {
      return yield* unreadable(source, "TooManyRedirects", `it redirects more than ${limits.redirects} times`)
    }
    if (response.status !== 200) {
      return yield* unreadable(source, "HttpStatus", `the server answered with status ${response.status}`)
    }
    if (Number(response.headers["content-length"] ?? 0) > limits.packedBytes) return yield* tooLarge(source, limits)
    const body = response.stream.pipe(
      Stream.mapError((error) => unreadable(source, "Truncated", `the transfer broke off (${codeOf(error)})`))
    )
    return yield* copyToTemporaryFile(bounded(inTime(body, source, limits), source, limits), source)
  })
  return yield* transfer.pipe(
    Effect.timeoutOrElse({
      duration: limits.downloadTimeoutMillis,
      orElse: () => Effect.fail(tookTooLong(source, limits))
    }),
    // Redirects are counted here. No trace, because the address may have a secret in its query.
    Effect.provideContext(
      Context.make(FetchHttpClient.RequestInit, { redirect: "manual" }).pipe(
        Context.add(HttpClient.TracerDisabledWhen, () => true)
      )
    )
  )
})

/**
 * Brings a path or an http(s) address to a local file. Temporary copies go when the scope closes.
 *
 * Fails with `SourceUnreadable`: not found, not readable, no file, HTTP status, too many redirects, connection,
 * timeout, too large, broken off.
 */
export const localCopy = (
  source: string
): Effect.Effect<LocalFile, SourceUnreadable, FileSystem.FileSystem | HttpClient.HttpClient | Scope.Scope> =>
  addressPattern.test(source) ? downloaded(source) : localFile(source)
