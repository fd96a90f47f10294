/**
 * Mails links to people by the platform's own sender (docs/platform.md, 2.13): as notices, which no account's pause
 * stops. Without `Notices` and `MailTransport`, as for a command that runs without a platform, nothing is mailed.
 */
import { Effect, Layer, Option } from "effect"
import { MemberMail, MemberMailFailed } from "../../platform/people/MemberMail.ts"
import { MailTransport } from "./MailTransport.ts"
import { Notices } from "./Notices.ts"

export const layerMemberMail: Layer.Layer<never> = Layer.effect(
  MemberMail,
  Effect.gen(function* () {
    const notices = yield* Effect.serviceOption(Notices)
    const transport = yield* Effect.serviceOption(MailTransport)
    if (Option.isNone(notices) || Option.isNone(transport)) return yield* MemberMail
    return {
      // Mail that waits for a relay would wait longer than its link is good.
      isPossible: transport.value.live.kind !== "none",
      send: (mail) =>
        Effect.mapError(
          notices.value.order({ ...mail, mode: "live" }),
          ({ message }) => new MemberMailFailed({ message })
        )
    }
  })
)
