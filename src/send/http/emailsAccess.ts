/** Implements the access to the endpoints that take email. Needs `Authentication` and `SendRate`. */
import { Effect, Layer } from "effect"
import { Authentication } from "../../platform/Authentication.ts"
import { makeAccess, nestedRefusals } from "../../platform/layerAccess.ts"
import { SendRate, sendRateFields } from "../emails/SendRate.ts"
import { SendEmailsAccess } from "./emailsApi.ts"

export const layerSendEmailsAccess: Layer.Layer<SendEmailsAccess, never, Authentication | SendRate> = Layer.effect(
  SendEmailsAccess,
  Effect.gen(function* () {
    const services = { authentication: yield* Authentication, requestRate: yield* SendRate }
    return makeAccess(services, { service: "send", refusals: nestedRefusals, fieldsOf: sendRateFields })
  })
)
