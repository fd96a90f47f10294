/** Examples of the events' and the webhooks' operations. */
import { exampleEvent, exampleMillis, lastPage, type OperationExamples } from "./OperationExamples.ts"

const endpointId = "we_oi0fCRBl6UelgyRRwuwlnJ"

/** The bytes of "an example of a key, of 32 bytes". */
const publicKey = "whpk_YW4gZXhhbXBsZSBvZiBhIGtleSwgb2YgMzIgYnl0ZXM="

const settings = {
  id: endpointId,
  url: "https://example.com/hook",
  enabled_events: ["telco.*"],
  description: "Look-ups",
  header_names: [],
  rate_limit: null,
  ordering: null,
  label: "customer-17",
  is_active: true,
  public_key: publicKey
}

const endpoint = {
  ...settings,
  is_paused: false,
  consecutive_failures: 0,
  last_delivery_at: exampleMillis,
  last_delivery_status: 200,
  pending: 0,
  oldest_pending_at: null,
  created_at: exampleMillis - 86_400_000
}

/** The bytes of "an example, not a secret". */
const secret = "whsec_YW4gZXhhbXBsZSwgbm90IGEgc2VjcmV0"

const message = "Store the signing secret now: it is shown this once."

const delivery = {
  id: "dlv_3bf817746baca5c7913c0a7a31717ff3",
  endpointId,
  eventId: exampleEvent.eventId,
  eventType: exampleEvent.type,
  eventCreatedAt: exampleMillis,
  origin: "event",
  replayId: null,
  status: "succeeded",
  attemptCount: 1,
  createdAt: exampleMillis,
  nextAttemptAt: null,
  settledAt: exampleMillis + 80
}

const attempts = [{ at: exampleMillis + 12, status: 200, duration: 68, response: "ok", error: null }]

const figures = {
  attempts: 1_240,
  succeeded: 1_225,
  failed: 15,
  retried: 14,
  successRate: 0.9879,
  latency: { p50: 38, p95: 190 }
}

const seconds = exampleMillis / 1000

const replayId = "rpl_cKzaofabVxGSkUXD76yCwx"

const askedPortal = { label: settings.label, types: settings.enabled_events }

const portalLink = {
  // The digits of "an example of it".
  url: "https://sluice.example.com/console#link=pl_616e206578616d706c65206f66206974",
  ...askedPortal,
  linkExpiresAt: exampleMillis + 3_600_000,
  expiresAt: exampleMillis + 28_800_000
}

/** The log of events. */
export const eventExamples = (): OperationExamples => ({
  "events.list": { answer: { data: [exampleEvent], pagination: lastPage } },
  "events.stream": {
    answer: { id: "1.4.0", event: exampleEvent.type, data: JSON.stringify(exampleEvent) }
  },
  "events.types": {
    answer: {
      data: [
        {
          type: "telco.lookup.completed",
          service: "telco",
          description: "A number was looked up",
          example: exampleEvent.data,
          matches: true
        }
      ]
    }
  },
  "events.rates": { answer: { data: [{ minute: exampleMillis, type: exampleEvent.type, count: 1 }] } },
  "events.get": { answer: exampleEvent },
  "events.origin": {
    answer: {
      partition: 1,
      sequence: 4,
      index: 0,
      frame: {
        epoch: 1,
        number: 4,
        decidedAt: exampleMillis,
        records: [
          {
            index: 0,
            kind: "telco",
            key: "",
            isEvent: true,
            record: {
              type: exampleEvent.type,
              service: exampleEvent.service,
              livemode: true,
              data: exampleEvent.data
            }
          }
        ]
      }
    }
  },
  "eventDeliveries.list": { answer: { data: [delivery], pagination: lastPage } }
})

/** Endpoints and their deliveries. */
export const webhookExamples = (): OperationExamples => ({
  "webhooks.create": {
    body: {
      url: settings.url,
      enabled_events: settings.enabled_events,
      description: settings.description,
      label: settings.label,
      asymmetric: true
    },
    answer: { ...settings, signing_secret: secret, message }
  },
  "webhooks.createPortalLink": { body: askedPortal, answer: portalLink },
  "webhooks.list": { answer: { endpoints: [endpoint] } },
  "webhooks.listKeys": { answer: { keys: [{ key: publicKey, created_at: exampleMillis }] } },
  "webhooks.listSources": { answer: { addresses: ["203.0.113.7", "2001:db8::/48"] } },
  "webhooks.get": { answer: endpoint },
  "webhooks.update": { body: { enabled_events: ["telco.*", "send.email.*"] }, answer: endpoint },
  "webhooks.delete": { answer: { id: endpointId, deleted: true } },
  "webhooks.test": {
    answer: {
      success: true,
      eventId: exampleEvent.eventId,
      message: "The test event is published and will be delivered shortly."
    }
  },
  "webhooks.unpause": { body: { replay: false }, answer: endpoint },
  "webhooks.rotateSecret": {
    body: { overlapSeconds: 86_400 },
    answer: {
      id: endpointId,
      signing_secret: secret,
      public_key: publicKey,
      previous_secret_expires_at: exampleMillis + 86_400_000,
      message
    }
  },
  "webhooks.listDeliveries": { answer: { data: [delivery], pagination: lastPage } },
  "webhooks.getDelivery": { answer: { ...delivery, attempts } },
  "webhooks.getDeliveryRequest": {
    answer: {
      method: "POST",
      url: settings.url,
      at: exampleMillis + 12,
      headers: [
        { name: "Content-Type", value: "application/json" },
        { name: "X-PlatformWebhook-Id", value: exampleEvent.eventId }
      ],
      body: JSON.stringify(exampleEvent),
      signedText: `${seconds}.${JSON.stringify(exampleEvent)}`
    }
  },
  "webhooks.retryDelivery": {
    answer: {
      ...delivery,
      origin: "retry",
      status: "pending",
      nextAttemptAt: exampleMillis + 60_000,
      settledAt: null,
      attempts
    }
  },
  "webhooks.listSkipped": { answer: { data: [], pagination: lastPage } },
  "webhooks.replay": { body: { since: exampleMillis, types: ["telco.*"] }, answer: { replayId, count: 12 } },
  "webhooks.getReplay": {
    answer: {
      id: replayId,
      since: exampleMillis - 3_600_000,
      until: exampleMillis,
      types: ["telco.*"],
      status: "done",
      asked: 12,
      queued: 12,
      delivered: 12,
      failed: 0,
      createdAt: exampleMillis,
      finishedAt: exampleMillis + 900
    }
  }
})

/** Figures of endpoints. */
export const webhookFigureExamples = (): OperationExamples => ({
  "webhooks.getMetrics": {
    answer: {
      id: endpointId,
      interval: "hour",
      since: exampleMillis,
      until: exampleMillis + 3_600_000,
      totals: figures,
      series: [{ at: exampleMillis, ...figures }]
    }
  }
})
