/**
 * Accepts mail that was submitted by SMTP (docs/handoff.md, 7): logs keys in, and turns each mail into one request to
 * send, by the same rules and limits as over HTTP. It fails with nothing: each outcome is an answer. Needs
 * `Authentication`, `SendRate` and `AcceptEmails`.
 */
import { hash } from "node:crypto"
import { Clock, Effect, Option, Redacted, Result } from "effect"
import { makeBulkhead } from "../../common/Bulkhead.ts"
import { Authentication } from "../../platform/Authentication.ts"
import { CallCounts } from "../../platform/CallCounts.ts"
import { sessionPrefix } from "../../platform/consoleCookie.ts"
import type { Principal } from "../../platform/model.ts"
import { AcceptEmails, type Repeated, type Sent } from "../emails/AcceptEmails.ts"
import { readEmail } from "../emails/readMessage.ts"
import { makeSendMetrics } from "../emails/SendMetrics.ts"
import { SendRate } from "../emails/SendRate.ts"
import { decisionMillis, decisionsAtOnce, decisionsOfOrganization, loginLookupMillis } from "./limits.ts"
import { formOfMail, recipientKey } from "./mailForm.ts"
import {
  acceptedReply,
  faultReply,
  invalidReply,
  isDefect,
  keyRefused,
  laterReply,
  rateReply,
  type SmtpReply,
  smtpReply,
  unknownReply
} from "./replies.ts"

/** A mail as its client has handed it over. */
export interface SubmittedMail {
  readonly raw: Buffer
  /** The recipients of the envelope, 1 to 50 addresses. */
  readonly recipients: ReadonlyArray<string>
}

export interface SubmitMail {
  /** The principal of a key that may send, or the refusal. */
  readonly logIn: (key: Redacted.Redacted<string>) => Effect.Effect<Result.Result<Principal, SmtpReply>>
  /** Decides a mail of a key that has logged in before; the key is checked again. */
  readonly submit: (key: Redacted.Redacted<string>, mail: SubmittedMail) => Effect.Effect<SmtpReply>
}

/** By what a repeat of a mail is known: its Message-ID, its bytes and its recipients. */
export const repeatedBy = (messageId: string | undefined, { raw, recipients }: SubmittedMail): Repeated | undefined => {
  if (messageId === undefined || messageId === "") return undefined
  const to = recipients.map((one) => recipientKey(one) ?? one).toSorted()
  // Servers that split a mail by recipient submit each part under the same Message-ID.
  const digest = hash("sha256", Buffer.concat([Buffer.from(`${JSON.stringify([messageId, to])}\n`), raw]), "base64url")
  return { key: `smtp-${digest}`, digest }
}

const notSending = keyRefused("API key does not have access to the send service")

export const makeSubmitMail: Effect.Effect<SubmitMail, never, Authentication | SendRate | AcceptEmails> = Effect.gen(
  function* () {
    const authentication = yield* Authentication
    const rate = yield* SendRate
    const sending = yield* AcceptEmails
    const calls = yield* CallCounts
    const metrics = yield* makeSendMetrics
    const inPlace = makeBulkhead({ total: decisionsAtOnce, ofOrganization: decisionsOfOrganization })

    const logIn: SubmitMail["logIn"] = Effect.fnUntraced(function* (given) {
      const key = Redacted.value(given)
      // A console's session counts only in its cookie.
      if (key.startsWith(sessionPrefix)) return Result.fail(keyRefused("Invalid API key"))
      const warm = authentication.verifyWarm(key, yield* Clock.currentTimeMillis)
      const found = yield* warm === undefined
        ? Effect.option(Effect.timeout(authentication.verify(key), loginLookupMillis))
        : Effect.succeedSome(warm)
      if (Option.isNone(found))
        return Result.fail(smtpReply(454, "4.7.0", "The API key cannot be checked right now", "unavailable"))
      if (found.value === null) return Result.fail(keyRefused("Invalid API key"))
      return found.value.services.has("send") ? Result.succeed(found.value) : Result.fail(notSending)
    })

    const accepted = (principal: Principal, sent: Sent): SmtpReply => {
      if (!sent.isReplay) {
        metrics.accepted(principal.mode, sent.emails.length)
        // The account has no fact of such a mail; others are counted from facts.
        if (sent.emails.every(({ state }) => state === "suppressed")) calls.count(principal.organizationId, "send")
      }
      return acceptedReply(sent)
    }

    const decide = Effect.fnUntraced(function* (principal: Principal, mail: SubmittedMail) {
      const { keyId, mode, organizationId } = principal
      const { form, messageId } = yield* formOfMail(mail.raw, mail.recipients)
      const email = readEmail(form, yield* sending.checks(mode))
      if (Result.isFailure(email)) return invalidReply(email.failure)
      const sent = yield* sending.send({ keyId, mode, organizationId }, [email.success], repeatedBy(messageId, mail))
      return accepted(principal, sent)
    })

    const submit: SubmitMail["submit"] = Effect.fn("SubmitMail.submit")(function* (key, mail) {
      const login = yield* logIn(key)
      if (Result.isFailure(login)) return login.failure.code === 454 ? laterReply : login.failure
      const principal = login.success
      const taken = rate.take(principal)
      const decision = Effect.isEffect(taken) ? yield* taken : taken
      if (decision !== undefined && !decision.allowed) return rateReply(decision)
      const reply = yield* inPlace(principal.organizationId, decide(principal, mail)).pipe(
        Effect.catch((fault) =>
          Effect.as(
            isDefect(fault) ? Effect.logError("a submitted mail was not decided", fault) : Effect.void,
            faultReply(fault)
          )
        ),
        Effect.timeoutOrElse({ duration: decisionMillis, orElse: () => Effect.succeed(unknownReply) }),
        Effect.catchDefect((defect) =>
          Effect.as(Effect.logError("a submitted mail was not decided", defect), laterReply)
        )
      )
      if (reply.code !== 250) metrics.refused(reply.outcome)
      return reply
    })

    return { logIn, submit }
  }
)
