/** Examples of the operations of sending. */
import { exampleMillis, exampleTime, lastPage, type OperationExamples } from "./OperationExamples.ts"

const emailId = "em_2d4IIpQlswS1gtL3BpaPjb"

const body = {
  from: "Ann <ann@acme.example>",
  to: "bob@example.com",
  subject: "Hello",
  text: "Hi Bob",
  html: "<p>Hi Bob</p>",
  tags: [{ name: "campaign", value: "welcome" }]
}

const later = "2026-01-01T01:00:00.000Z"

const listed = {
  id: emailId,
  from: body.from,
  to: [body.to],
  cc: null,
  bcc: null,
  reply_to: null,
  key_id: "key_7wSxLm3kQp9tYb2vNcHf4J",
  subject: body.subject,
  created_at: exampleTime,
  scheduled_at: later,
  last_event: "scheduled",
  state: "scheduled",
  held: null
}

const sent = { id: emailId, state: "queued" }

const changed = { object: "email", id: emailId }

/** Single emails and batches. */
export const emailExamples = (): OperationExamples => ({
  "emails.send": { body, answer: sent },
  "emails.create": { body, answer: sent },
  "emails.list": { answer: { object: "list", has_more: false, data: [listed], pagination: lastPage } },
  "emails.batch": { body: [body], answer: { data: [sent] } },
  "emails.get": {
    answer: {
      object: "email",
      ...listed,
      message_id: emailId,
      request_id: "req_0b5a3f0e-6c1d-4f7e-9a55-2f4b8f1c7d10",
      html: body.html,
      text: body.text,
      tags: body.tags,
      attachments: [],
      history: [{ state: "scheduled", at: exampleMillis }],
      handoff: null
    }
  },
  "emails.reschedule": { body: { scheduled_at: later }, answer: { ...changed, scheduled_at: later } },
  "emails.cancel": { answer: changed }
})

const records = [
  {
    record: "Ownership",
    name: "_sluice.acme.example",
    type: "TXT",
    ttl: "3600",
    status: "verified",
    value: "sluice-verification=gygA5w65iLMDqfvNLTTEwi",
    required: true
  },
  {
    record: "DKIM",
    name: "sluice-fjrytmp1vl._domainkey.acme.example",
    type: "TXT",
    ttl: "3600",
    status: "pending",
    value: "v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A",
    required: true
  }
]

const authentication = [
  {
    record: "SPF",
    name: "acme.example",
    status: "missing",
    message: 'acme.example has no SPF record: set "v=spf1 include:spf.relay.example ~all" as a TXT record.',
    advised: "v=spf1 include:spf.relay.example ~all",
    checkedAt: exampleTime
  },
  {
    record: "DMARC",
    name: "_dmarc.acme.example",
    status: "pass",
    message: "The DMARC record at _dmarc.acme.example asks receivers to reject forged mail.",
    advised: null,
    checkedAt: exampleTime
  }
]

const listedDomain = {
  id: "dom_hIY16s2esiaiiXQS4rkGkO",
  name: "acme.example",
  status: "verified",
  created_at: exampleTime,
  region: null,
  tier: "new"
}

const room = { dailyCap: 200, releasedToday: 3, held: 0, scheduled: 1 }

const nextTier = {
  tier: "warming",
  emailsMissing: 100,
  notBefore: "2026-01-04T00:00:00.000Z",
  bounceRate: 0,
  bounceRateBelow: 0.01,
  complaintRate: 0,
  complaintRateBelow: 0.0005
}

const domain = { object: "domain", ...listedDomain, records, authentication, ...room, nextTier }

const listedSender = {
  id: "snd_mi80zXMEYCiU2qcAOdCC0a",
  email: "ann@example.com",
  status: "pending",
  created_at: exampleTime,
  verified_at: null,
  tier: "new"
}

const sender = {
  object: "sender",
  ...listedSender,
  dailyCap: 200,
  releasedToday: 0,
  held: 0,
  scheduled: 0,
  nextTier: null
}

const dmarcCounts = {
  messages: 12_300,
  passed: 12_060,
  dkimAligned: 12_060,
  spfAligned: 11_900,
  quarantined: 0,
  rejected: 240
}

const dmarcReports = {
  object: "list",
  kind: "dmarc",
  since: exampleMillis,
  until: exampleMillis + 86_400_000,
  reporters: [{ name: "reporter.example", reports: 1 }],
  totals: dmarcCounts,
  data: [
    {
      source: "198.51.100.7",
      firstDay: "2026-01-01",
      lastDay: "2026-01-01",
      ...dmarcCounts,
      messages: 240,
      passed: 0,
      dkimAligned: 0,
      spfAligned: 0
    }
  ],
  has_more: false,
  pagination: lastPage
}

/** Domains and single addresses from which an organization sends. */
export const senderExamples = (): OperationExamples => ({
  "sendDomains.create": { body: { name: "acme-mail.example" }, answer: domain },
  "sendDomains.list": { answer: { object: "list", data: [listedDomain], has_more: false, pagination: lastPage } },
  "sendDomains.get": { answer: domain },
  "sendDomains.delete": { answer: { object: "domain", id: listedDomain.id, deleted: true } },
  "sendDomains.records": {
    answer: {
      data: [
        { ...records[0], seen: [records[0]!.value] },
        { ...records[1], seen: null }
      ]
    }
  },
  "sendDomains.reports": { answer: dmarcReports },
  "sendDomains.verify": { answer: { object: "domain", id: listedDomain.id, status: "verified" } },
  "sendDomains.rotateKey": { answer: domain },
  "sendSenders.create": { body: { email: listedSender.email }, answer: sender },
  "sendSenders.list": { answer: { object: "list", data: [listedSender], has_more: false, pagination: lastPage } },
  "sendSenders.get": { answer: sender },
  "sendSenders.delete": { answer: { object: "sender", id: listedSender.id, deleted: true } }
})

const suppression = {
  object: "suppression",
  id: "sup_548aaa95197378330eea8223ff0a9c2d",
  email: "bob@example.com",
  origin: "manual",
  source_id: null,
  created_at: exampleTime
}

const { object, ...listedSuppression } = suppression

const added = { object, id: suppression.id }

const cap = (limit: number | null, used: number) => ({ limit, used, resetsAt: null })

const tenant = {
  mode: "test",
  plan: "pro",
  trustStage: "probation",
  probationEndsAt: "2026-01-04T00:00:00.000Z",
  caps: {
    emailsPerMonth: { limit: 50_000, used: 4, resetsAt: "2026-02-01T00:00:00.000Z" },
    emailsPerHour: cap(50, 4),
    emailsPerDay: cap(200, 4),
    recipientDomainsPerHour: cap(25, 1),
    senders: cap(10, 2)
  },
  triggers: [
    { trigger: "bounces", count: 0, limit: 3 },
    { trigger: "complaint", count: 0, limit: 1 }
  ]
}

const fact = {
  decidedAt: exampleMillis,
  sequence: 8,
  index: 0,
  sentence: "Probation began, with standard risk",
  fact: { _tag: "Began", at: exampleMillis, risk: "standard" }
}

const figures = {
  accepted: 120,
  held: 0,
  sent: 118,
  delivered: 112,
  bounced: 2,
  complained: 0,
  suppressed: 1,
  failed: 0,
  canceled: 1,
  rates: { held: 0, suppressed: 0.0083, failed: 0, delivered: 0.9492, bounced: 0.0169, complained: 0 },
  timeToHandOver: { p50: 412, p95: 1_850 }
}

const metrics = {
  mode: "live",
  domain: "acme.example",
  interval: "hour",
  since: exampleMillis,
  until: exampleMillis + 3_600_000,
  totals: figures,
  series: [{ at: exampleMillis, ...figures }]
}

/** Suppressions, the account and reports of other mail systems. */
export const accountExamples = (): OperationExamples => ({
  "sendSuppressions.add": { body: { email: suppression.email }, answer: added },
  "sendSuppressions.list": {
    answer: { object: "list", data: [listedSuppression], has_more: false, pagination: lastPage }
  },
  "sendSuppressions.get": { answer: suppression },
  "sendSuppressions.delete": { answer: { ...added, deleted: true } },
  "sendSuppressions.addBatch": { body: { emails: [suppression.email] }, answer: { data: [added] } },
  "sendSuppressions.removeBatch": {
    body: { emails: [suppression.email] },
    answer: { data: [{ ...added, deleted: true }] }
  },
  "sendTenants.get": { answer: tenant },
  "sendTenants.facts": { answer: { data: [fact] } },
  "sendTenants.reset": { answer: tenant },
  "sendMetrics.get": { answer: metrics },
  "sendFeedback.report": {
    body: {
      id: emailId,
      from: "ann@acme.example",
      recipient: "bob@example.com",
      what: "bounced",
      kind: "permanent",
      code: "5.1.1",
      reason: "No such user"
    },
    answer: { data: [{ id: emailId, outcome: "unknown" }] }
  }
})
