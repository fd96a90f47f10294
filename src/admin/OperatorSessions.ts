/**
 * Authenticates users of the admin API: the bearer of one of its credentials, and operators who signed in to the
 * console with one (docs/platform.md, 12.2). Sessions are kept in memory, so a restart ends them. Needs no service.
 */
import { timingSafeEqual } from "node:crypto"
import { Clock, Context, Effect, Layer, Redacted } from "effect"
import { BoundedMap } from "../common/BoundedMap.ts"
import { keyDigest, randomText } from "../common/identifiers.ts"
import { givenSession, operatorCookie, sessionPrefix } from "../platform/consoleCookie.ts"

/** How long an operator's session lives. */
export const operatorSessionMillis = 60 * 60_000

/** Most open sessions. A new one replaces the oldest. */
const maximumSessions = 64

type Headers = Readonly<Record<string, string | undefined>>

export class OperatorSessions extends Context.Service<
  OperatorSessions,
  {
    /** Opens a session with a credential; undefined where it is none. */
    readonly open: (
      credential: string
    ) => Effect.Effect<{ readonly text: string; readonly expiresAtMillis: number } | undefined>
    /**
     * When the session of a request ends, in Unix milliseconds; null for the bearer of a credential, undefined for
     * nobody.
     */
    readonly endOf: (headers: Headers) => Effect.Effect<number | null | undefined>
    /** Ends the session of a request; whether there was one. */
    readonly close: (headers: Headers) => Effect.Effect<boolean>
  }
>()("sluice/admin/OperatorSessions") {
  static readonly layer = (keys: ReadonlyArray<Redacted.Redacted<string>>): Layer.Layer<OperatorSessions> =>
    Layer.sync(OperatorSessions, () => {
      const expected = keys.map((key) => Buffer.from(keyDigest(Redacted.value(key))))
      const sessions = new BoundedMap<string, number>(maximumSessions)
      const isCredential = (given: string): boolean => {
        const digest = Buffer.from(keyDigest(given))
        // Digests of equal length, so that the comparison tells nothing about a key.
        return expected.some((one) => timingSafeEqual(digest, one))
      }
      const digestOf = (headers: Headers): string | undefined => {
        const text = givenSession(headers, operatorCookie)
        return text === undefined ? undefined : keyDigest(text)
      }
      return OperatorSessions.of({
        open: Effect.fn("OperatorSessions.open")(function* (credential) {
          if (!isCredential(credential)) return undefined
          const text = `${sessionPrefix}admin_${randomText()}`
          const expiresAtMillis = (yield* Clock.currentTimeMillis) + operatorSessionMillis
          sessions.set(keyDigest(text), expiresAtMillis)
          return { text, expiresAtMillis }
        }),
        endOf: (headers) =>
          Effect.map(Clock.currentTimeMillis, (now) => {
            const bearer = /^bearer +(.+)$/i.exec(headers.authorization ?? "")?.[1]
            if (bearer !== undefined) return isCredential(bearer) ? null : undefined
            const digest = digestOf(headers)
            const end = digest === undefined ? undefined : sessions.get(digest)
            return end !== undefined && end > now ? end : undefined
          }),
        close: (headers) =>
          Effect.sync(() => {
            const digest = digestOf(headers)
            return digest !== undefined && sessions.delete(digest)
          })
      })
    })
}
