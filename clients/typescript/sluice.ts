/** Makes the client that the generated operations take, with typed errors, retries and idempotency keys. */
import { errorOf } from "./errors.ts"
import { type Client, createClient, createConfig } from "./generated/client/index.ts"

export interface SluiceOptions {
  /** The platform's address, such as `https://sluice.example.com`. */
  readonly baseUrl: string
  readonly apiKey: string
  /** Repeats after the first attempt; default 3. */
  readonly retries?: number
  /** The longest wait before a repeat, in milliseconds; default 30,000. A platform that asks for more gets none. */
  readonly maximumWaitMillis?: number
  /** Instead of the global one. */
  readonly fetch?: typeof fetch
}

const firstWaitMillis = 500

/** Statuses of a platform, or of a proxy before it, that was away. */
const repeatable = new Set([429, 502, 503, 504])

const pause = (millis: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const end = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", end)
      resolve()
    }, millis)
    signal.addEventListener("abort", end, { once: true })
  })

/** How long to wait before the next attempt; undefined where a repeat does not help. */
const waitMillis = (response: Response | undefined, attempt: number, longest: number): number | undefined => {
  const growing = Math.min(longest, firstWaitMillis * 2 ** attempt) * (1 + Math.random() / 5)
  if (response === undefined) return growing
  if (!repeatable.has(response.status)) return undefined
  const after = response.headers.get("retry-after")
  // A limit of a month does not end by waiting, and its answer names no time.
  if (after === null) return response.status === 429 ? undefined : growing
  const asked = Number(after) * 1000
  return asked <= longest ? asked : undefined
}

/** Repeats what may be repeated. Every POST has an idempotency key, so that it is carried out once. */
const retrying = ({ fetch: given, maximumWaitMillis: longest = 30_000, retries = 3 }: SluiceOptions): typeof fetch => {
  const send = given ?? globalThis.fetch
  return async (input, init) => {
    const request = new Request(input, init)
    if (request.method === "POST" && !request.headers.has("idempotency-key"))
      request.headers.set("idempotency-key", crypto.randomUUID())
    for (let attempt = 0; ; attempt++) {
      let failure: unknown
      const response = await send(request.clone()).catch((error: unknown) => {
        if (request.signal.aborted) throw error
        failure = error
        return undefined
      })
      const wait = attempt < retries ? waitMillis(response, attempt, longest) : undefined
      if (wait === undefined) {
        if (response === undefined) throw failure
        return response
      }
      await response?.body?.cancel()
      await pause(wait, request.signal)
    }
  }
}

/**
 * The client of a platform, for the generated operations: `emailsCreate({ client, throwOnError: true, body })`. With
 * `throwOnError` they throw a `SluiceError`; without it they return it as `error`.
 */
export const createSluice = (options: SluiceOptions): Client => {
  const client = createClient(
    createConfig({
      baseUrl: options.baseUrl.replace(/\/+$/, ""),
      auth: () => options.apiKey,
      fetch: retrying(options)
    })
  )
  client.interceptors.error.use((error, response) => (response instanceof Response ? errorOf(response, error) : error))
  return client
}

interface Page<Item> {
  readonly data: ReadonlyArray<Item>
  readonly pagination: { readonly hasMore: boolean; readonly nextCursor?: string | null }
}

/**
 * Every item of a list with cursors, page by page:
 * `for await (const event of everyItem((page) => eventsList({ client, throwOnError: true, query: page })))`.
 */
export async function* everyItem<Item>(
  list: (page: { cursor?: string }) => Promise<{ readonly data: Page<Item> }>
): AsyncGenerator<Item, void, undefined> {
  let cursor: string | null | undefined
  do {
    const { data } = await list(typeof cursor === "string" ? { cursor } : {})
    yield* data.data
    cursor = data.pagination.hasMore ? data.pagination.nextCursor : undefined
  } while (typeof cursor === "string")
}
