/**
 * Defines the event catalogue: every type with its service, payload and an example (docs/platform.md, 5.2). Rules emit
 * through `publicEvent`, which validates the payload. Pure.
 */
import { Schema } from "effect"
import type { PublicEvent } from "../engine/Actor.ts"
import { platformPlans } from "../limits/plans.ts"
import type { EventService } from "./event.ts"

interface CatalogueEntry<Data> {
  readonly service: EventService
  /** The cause of the event. */
  readonly description: string
  /** The payload; all of it is JSON. */
  readonly data: Schema.ConstraintCodec<Data, unknown>
  /** An example of the payload, for the docs and for test events. */
  readonly example: Data
}

const entry = <Data>(of: CatalogueEntry<Data>): CatalogueEntry<Data> => of

const digits = (count: number) => Schema.String.check(Schema.isPattern(new RegExp(`^[0-9]{${count}}$`)))

const described = (description: string) => Schema.String.annotate({ description })

const count = (description: string) => Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({ description })

const endpointFields = {
  endpoint_id: described("The endpoint"),
  url: described("Its address"),
  consecutive_failures: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({
    description: "Deliveries that failed since the last success"
  }),
  last_delivery_status: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 999 })).annotate({
    description: "HTTP status of the last attempt; 0 without an answer"
  })
}

const feedbackFields = {
  messageId: described("As in send.email.sent"),
  recipient: described("The one recipient that this is about"),
  from: Schema.String,
  subject: Schema.String,
  code: Schema.NullOr(Schema.String).annotate({
    description: "Status code of the report, such as 5.1.1; null without one"
  }),
  kind: Schema.NullOr(Schema.String).annotate({ description: "Kind of bounce or complaint; null where there is none" }),
  reason: Schema.NullOr(Schema.String).annotate({ description: "Words of the remote side; null without any" })
}

const feedbackExample = {
  messageId: "msg_5pVbXq2nLr8sWc1yTzKd3M",
  recipient: "ada@example.com",
  from: "hello@example.org",
  subject: "Welcome"
}

const emailFields = {
  messageId: described("The email's id, as the API shows it"),
  from: Schema.String,
  to: Schema.Array(Schema.String).annotate({ description: "The email's `to`; never cc or bcc" }),
  subject: Schema.String
}

const emailExample = {
  messageId: "msg_5pVbXq2nLr8sWc1yTzKd3M",
  from: "hello@example.org",
  to: ["ada@example.com"],
  subject: "Welcome"
}

/** The answer of a server, or the fault before one was asked. */
const troubleFields = {
  code: Schema.NullOr(Schema.String).annotate({
    description: "Status code of the server that refused, such as 4.3.2; null without one"
  }),
  reason: Schema.NullOr(Schema.String).annotate({ description: "The failure in words; null without any" })
}

const time = (description: string) => Schema.String.annotate({ description: `${description}, ISO 8601` })

const subscriptionFields = {
  id: described("The subscription, sub_…"),
  plan: Schema.Literals(platformPlans).annotate({ description: "The platform plan that it pays for" }),
  sendPlan: Schema.Literals(["hobby", "pro", "enterprise"]).annotate({ description: "The send plan that it pays for" }),
  status: Schema.Literals(["active", "trialing", "past_due", "canceled"]),
  currentPeriodStart: time("When the period began that is paid for"),
  currentPeriodEnd: time("When it ends"),
  cancelAtPeriodEnd: Schema.Boolean
}

/** A subscription, as the API shows it too. */
export const subscriptionPayload = Schema.Struct(subscriptionFields)

const subscriptionExample: typeof subscriptionPayload.Type = {
  id: "sub_5pVbXq2nLr8sWc1yTzKd3M",
  plan: "team",
  sendPlan: "pro",
  status: "active",
  currentPeriodStart: "2026-07-15T09:24:07.512Z",
  currentPeriodEnd: "2026-08-15T09:24:07.512Z",
  cancelAtPeriodEnd: false
}

const invoiceFields = {
  id: described("The invoice, in_…"),
  amount: count("In the currency's minor unit"),
  currency: described("ISO 4217, in lower case"),
  status: Schema.Literals(["draft", "open", "paid", "void", "uncollectible"]),
  createdAt: time("When it was made"),
  pdfUrl: Schema.Null.annotate({
    description: "Null: an address expires, and `GET /v1/billing/invoices` has a good one"
  })
}

const Invoice = Schema.Struct(invoiceFields)

const invoiceExample = (status: (typeof Invoice.Type)["status"]): typeof Invoice.Type => ({
  id: "in_5pVbXq2nLr8sWc1yTzKd3M",
  amount: 11_900,
  currency: "usd",
  status,
  createdAt: "2026-07-15T09:24:07.512Z",
  pdfUrl: null
})

/** Every type with a payload. Keys are the types. */
export const catalogue = {
  "send.email.sent": entry({
    service: "send",
    description: "The relay has accepted the email",
    data: Schema.Struct(emailFields),
    example: emailExample
  }),
  "send.email.delayed": entry({
    service: "send",
    description: "The email could not be handed over for now and is tried again; once per email",
    data: Schema.Struct({ ...emailFields, ...troubleFields }),
    example: { ...emailExample, code: "4.3.2", reason: "The system is not accepting messages" }
  }),
  "send.email.failed": entry({
    service: "send",
    description: "The email was given up and is not sent; no bounce is counted",
    data: Schema.Struct({
      ...emailFields,
      code: troubleFields.code,
      kind: described(
        "Why: `expired` when no try has succeeded for 72 hours, `unknown` when nobody can say whether the last one has, `attachment` when one cannot be had"
      ),
      reason: troubleFields.reason
    }),
    example: { ...emailExample, code: "4.4.1", kind: "expired", reason: "The host does not answer" }
  }),
  "send.email.delivered": entry({
    service: "send",
    description: "The recipient's server has taken the email; one event per recipient",
    data: Schema.Struct(feedbackFields),
    example: { ...feedbackExample, code: "2.0.0", kind: null, reason: null }
  }),
  "send.email.bounced": entry({
    service: "send",
    description: "The email did not reach the recipient; one event per recipient",
    data: Schema.Struct(feedbackFields),
    example: { ...feedbackExample, code: "5.1.1", kind: "permanent", reason: "No such mailbox" }
  }),
  "send.email.complained": entry({
    service: "send",
    description: "The recipient reported the email as spam; one event per recipient",
    data: Schema.Struct(feedbackFields),
    example: { ...feedbackExample, code: null, kind: "abuse", reason: null }
  }),
  "send.account.paused": entry({
    service: "send",
    description: "An account on probation was paused; what it has accepted is held until support lifts the pause",
    data: Schema.Struct({
      trustStage: Schema.Literal("sending_paused"),
      pauseReason: Schema.Literals(["bounces", "complaint", "spike", "risky_content"]),
      pausedAt: time("When it was paused")
    }),
    example: { trustStage: "sending_paused", pauseReason: "complaint", pausedAt: "2026-07-01T09:24:07.512Z" }
  }),
  "send.account.warning": entry({
    service: "send",
    description: "An account on probation is one step before an automatic pause",
    data: Schema.Struct({
      trigger: Schema.Literals(["bounces", "complaint", "spike", "risky_content"]),
      count: count("How far the trigger has come"),
      limit: count("At which count sending is paused")
    }),
    example: { trigger: "bounces", count: 2, limit: 3 }
  }),
  "send.account.promoted": entry({
    service: "send",
    description: "An account reached the next trust stage",
    data: Schema.Struct({
      trustStage: Schema.Literals(["established", "trusted"]),
      previousTrustStage: Schema.Literals(["probation", "established"]),
      promotedAt: time("The check that promoted it")
    }),
    example: { trustStage: "established", previousTrustStage: "probation", promotedAt: "2026-07-04T10:00:00.000Z" }
  }),
  "send.domain.promoted": entry({
    service: "send",
    description: "A sender reached the next daily tier",
    data: Schema.Struct({
      sender: described("The verified domain, or the verified address where the sender is one"),
      tier: Schema.Literals(["warming", "trusted"]),
      previousTier: Schema.Literals(["new", "warming"]),
      emailsPerDay: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({
        description: "Its daily cap from now on"
      }),
      promotedAt: time("The check that promoted it")
    }),
    example: {
      sender: "example.org",
      tier: "warming",
      previousTier: "new",
      emailsPerDay: 2_000,
      promotedAt: "2026-07-04T10:00:00.000Z"
    }
  }),
  "telco.lookup.completed": entry({
    service: "telco",
    description: "A successful GET /v1/telco/lookup/{tn}",
    data: Schema.Struct({
      tn: digits(10).annotate({ description: "10 digits" }),
      npa: digits(3).annotate({ description: "First 3 digits" }),
      nxx: digits(3).annotate({ description: "Digits 4 to 6" }),
      hasCarrier: Schema.Boolean,
      hasInventory: Schema.Boolean.annotate({ description: "Whether the caller's inventory holds the number" })
    }),
    example: { tn: "2125560123", npa: "212", nxx: "556", hasCarrier: true, hasInventory: false }
  }),
  "telco.lookups.completed": entry({
    service: "telco",
    description: "A POST /v1/telco/lookups; one event for all its numbers",
    data: Schema.Struct({
      numbers: count("Numbers of the request"),
      found: count("Those with a record of their code"),
      inInventory: count("Those of them that the caller's inventory holds")
    }),
    example: { numbers: 1_000, found: 987, inInventory: 12 }
  }),
  "telco.search.completed": entry({
    service: "telco",
    description: "A GET /v1/telco/search",
    data: Schema.Struct({
      source: Schema.Literals(["npanxx", "inventory"]),
      filters: Schema.Struct({
        state: Schema.NullOr(Schema.String),
        npa: Schema.NullOr(Schema.String),
        rateCenter: Schema.NullOr(Schema.String),
        ocn: Schema.NullOr(Schema.String)
      }).annotate({ description: "Unused filters are null" })
    }),
    example: { source: "npanxx", filters: { state: "NY", npa: "212", rateCenter: null, ocn: null } }
  }),
  "telco.directory.updated": entry({
    service: "telco",
    description: "An operator has read a published file that changes the number directory; one event for each file",
    data: Schema.Struct({
      source: described("Kind of the file, such as NANPA or CNAC"),
      publication: Schema.NullOr(Schema.String).annotate({
        description: "Date the file names as its own, YYYY-MM-DD; null where it has none"
      }),
      added: count("Records that it added"),
      changed: count("Records that it changed"),
      removed: count("Records that it removed")
    }),
    example: { source: "NANPA", publication: "2026-07-06", added: 12, changed: 204, removed: 1 }
  }),
  "talk.speech.completed": entry({
    service: "talk",
    description: "A POST /v1/talk/speech whose audio was made",
    data: Schema.Struct({
      characters: count("Characters of the text: code points"),
      voice: described("Id of the voice"),
      format: Schema.Literals(["wav", "mp3", "ogg"]),
      duration: count("How long the audio lasts, in milliseconds"),
      bytes: count("How long the audio's file is")
    }),
    example: { characters: 44, voice: "en-us", format: "wav", duration: 2_795, bytes: 123_304 }
  }),
  "subscription.created": entry({
    service: "platform",
    description: "A subscription began",
    data: subscriptionPayload,
    example: subscriptionExample
  }),
  "subscription.updated": entry({
    service: "platform",
    description: "A subscription has another plan, period or status, or will end with its period",
    data: subscriptionPayload,
    example: { ...subscriptionExample, cancelAtPeriodEnd: true }
  }),
  "subscription.canceled": entry({
    service: "platform",
    description: "A subscription has ended: it was canceled, or not paid for",
    data: subscriptionPayload,
    example: { ...subscriptionExample, status: "canceled" }
  }),
  "invoice.paid": entry({
    service: "platform",
    description: "An invoice was paid",
    data: Invoice,
    example: invoiceExample("paid")
  }),
  "invoice.failed": entry({
    service: "platform",
    description: "The payment of an invoice has failed: it stays open for a renewal, and is void for a checkout",
    data: Invoice,
    example: invoiceExample("open")
  }),
  "platform.test": entry({
    service: "platform",
    description: "POST /v1/webhooks/{id}/test; goes to that endpoint only",
    data: Schema.Struct({ message: Schema.String, endpoint_id: described("The endpoint under test") }),
    example: { message: "This is a test event", endpoint_id: "we_5pVbXq2nLr8sWc1yTzKd3M" }
  }),
  "platform.webhook.failing": entry({
    service: "platform",
    description: "Deliveries to an endpoint fail; it will be paused if they go on failing",
    data: Schema.Struct(endpointFields),
    example: {
      endpoint_id: "we_5pVbXq2nLr8sWc1yTzKd3M",
      url: "https://example.com/hook",
      consecutive_failures: 5,
      last_delivery_status: 503
    }
  }),
  "platform.webhook.paused": entry({
    service: "platform",
    description: "An endpoint was paused; nothing is lost, unpause it to go on",
    data: Schema.Struct({
      ...endpointFields,
      reason: Schema.Literals(["failures", "gone"]).annotate({
        description: "`failures` after 10 consecutive failed deliveries, `gone` after an answer of 410"
      })
    }),
    example: {
      endpoint_id: "we_5pVbXq2nLr8sWc1yTzKd3M",
      url: "https://example.com/hook",
      consecutive_failures: 10,
      last_delivery_status: 0,
      reason: "failures"
    }
  })
}

export type CataloguedType = keyof typeof catalogue
export type DataOf<Type extends CataloguedType> = (typeof catalogue)[Type]["example"]

/** Whether the catalogue has a payload for this type. */
export const isCatalogued = (type: string): type is CataloguedType => Object.hasOwn(catalogue, type)

/** Every known type with its service. */
export const knownTypes: ReadonlyMap<string, EventService> = new Map(
  Object.entries(catalogue).map(([type, { service }]) => [type, service] as const)
)

const checks = new Map(
  Object.entries(catalogue).map(([type, { data }]) => [
    type,
    Schema.decodeUnknownSync(data as Schema.ConstraintCodec<unknown, unknown>, { onExcessProperty: "error" })
  ])
)

/**
 * The payload of a catalogued type, fields in the catalogue's order. Throws a `SchemaError` on anything else, unknown
 * fields included.
 */
export const checkData = <Type extends CataloguedType>(type: Type, data: unknown): DataOf<Type> =>
  checks.get(type)!(data) as DataOf<Type>

/**
 * An event for a decision (`Actor.decided({ events })`). Throws when the payload does not fit the catalogue: that is a
 * fault of the rule and fails its command alone (docs/architecture.md, rule 12). `livemode` is false for what a test
 * key caused.
 */
export const publicEvent = <Type extends CataloguedType>(
  type: Type,
  data: DataOf<Type>,
  livemode: boolean
): PublicEvent => ({ type, service: catalogue[type].service, livemode, data: checkData(type, data) })
