/**
 * Mails links to sign in (docs/platform.md, 12.4). A request only puts the address into a bounded queue, so that answer
 * and time are the same for known and unknown addresses; a fiber looks them up and mails. Needs `SqlClient`; mails by
 * `MemberMail`.
 */
import { Context, Data, Effect, Layer, Queue } from "effect"
import { SqlClient } from "effect/sql"
import { randomText } from "../../common/identifiers.ts"
import { ConsoleAddress, MemberMail } from "./MemberMail.ts"
import { makeLink } from "./Members.ts"
import { signInMail } from "./memberMails.ts"
import { membershipsOf } from "./memberSessions.ts"

/** Addresses that wait to be looked up. */
const maximumWaiting = 256

/** How long one address may take. */
const lookupTimeoutMillis = 10_000

/** This platform mails no links: it has no relay. */
export class LinksNotMailed extends Data.TaggedError("LinksNotMailed") {}

/** Too many addresses wait. */
export class SignInBusy extends Data.TaggedError("SignInBusy") {}

export class SignInLinks extends Context.Service<
  SignInLinks,
  {
    /** Whether links are mailed here. */
    readonly isPossible: boolean
    /** Orders a link for an address in lower case, whether it is somebody's or nobody's. */
    readonly order: (email: string) => Effect.Effect<void, LinksNotMailed | SignInBusy>
  }
>()("sluice/platform/SignInLinks") {
  static readonly layer: Layer.Layer<SignInLinks, never, SqlClient.SqlClient> = Layer.effect(
    SignInLinks,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const mail = yield* MemberMail
  const address = yield* ConsoleAddress
  const waiting = yield* Queue.dropping<string>(maximumWaiting)

  const mailTo = Effect.fnUntraced(function* (email: string) {
    const made = yield* sql.withTransaction(
      Effect.gen(function* () {
        const [member] = yield* membershipsOf(sql, email)
        if (member === undefined) return undefined
        const text = yield* makeLink(sql, "sign_in", member, member.organizationId)
        return { text, organization: member.organizationId }
      })
    )
    if (made === undefined) return
    yield* mail.send({
      id: `sil_${randomText()}`,
      organization: made.organization,
      to: email,
      ...signInMail(`${address()}/console#link=${made.text}`)
    })
  })

  yield* Queue.take(waiting).pipe(
    Effect.flatMap((email) =>
      mailTo(email).pipe(
        Effect.timeout(lookupTimeoutMillis),
        // One more than an address is mailed: it has the others.
        Effect.catchTag("TooManyLinks", () => Effect.void),
        Effect.catchCause((cause) => Effect.logWarning("A link to sign in could not be mailed", cause))
      )
    ),
    Effect.forever,
    Effect.forkScoped
  )

  return SignInLinks.of({
    isPossible: mail.isPossible,
    order: Effect.fn("SignInLinks.order")(function* (email) {
      if (!mail.isPossible) return yield* new LinksNotMailed()
      if (!(yield* Queue.offer(waiting, email))) return yield* new SignInBusy()
    })
  })
})
