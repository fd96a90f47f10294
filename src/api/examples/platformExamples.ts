/** Examples of billing, usage, keys and the console's sessions. */
import { exampleMillis, exampleTime, lastPage, type OperationExamples } from "./OperationExamples.ts"

const subscription = {
  id: "sub_000000000001800080000003c0000000",
  plan: "team",
  sendPlan: "pro",
  status: "active",
  currentPeriodStart: exampleTime,
  currentPeriodEnd: "2026-02-01T00:00:00.000Z",
  cancelAtPeriodEnd: false
}

const organizationId = "org_nMmqii7bC6pR4mUaML8gbW"

const key = {
  id: "key_ebq7dcZh8oeWmE9LLsX0mD",
  organizationId,
  name: "Newsletter",
  prefix: "sk_test_EXAM",
  mode: "test",
  services: ["send"],
  scopes: ["platform:events:read"],
  active: true,
  createdAt: exampleMillis,
  expiresAt: null,
  lastUsedAt: null
}

const secret = "sk_test_EXAMPLE0EXAMPLE0EXAMPL"

const report = { product: "directory", usageType: "apiCalls", quantity: 1 }

/** Billing and usage. */
export const billingExamples = (): OperationExamples => ({
  "billing.subscription": { answer: subscription },
  "billing.invoices": {
    answer: {
      data: [
        {
          id: "in_00010000000180008000000300000000",
          amount: 11_900,
          currency: "usd",
          status: "open",
          createdAt: exampleTime,
          pdfUrl: "https://sluice.example/invoices/in_00010000000180008000000300000000.pdf?expires=1767229200000"
        }
      ],
      pagination: lastPage
    }
  },
  "billing.checkout": {
    body: {
      priceId: "team_pro",
      successUrl: "https://shop.example/thanks",
      cancelUrl: "https://shop.example/"
    },
    answer: { url: "https://sluice.example/checkout/cs_Og4Bddf8leJ8vO7D5otTkolCk4Mb3jR2" }
  },
  "billing.cancel": { body: { atPeriodEnd: true }, answer: { ...subscription, cancelAtPeriodEnd: true } },
  "billing.resume": { answer: subscription },
  "billing.prices": {
    answer: {
      data: [
        {
          id: "team_pro",
          name: "Team with Pro",
          plan: "team",
          sendPlan: "pro",
          amount: 11_900,
          currency: "usd",
          interval: "month",
          requestsPerMinute: 6_000,
          emailsPerMonth: 50_000
        }
      ]
    }
  },
  "usage.entitlement": {
    answer: {
      hasAccess: true,
      product: "send",
      limits: { apiCalls: null, emails: 50_000 },
      usage: { apiCalls: 26, emails: 4 }
    }
  },
  "usage.usage": {
    answer: {
      period: { start: exampleTime, end: subscription.currentPeriodEnd },
      usage: { apiCalls: 69, emails: 4, storage: 660 }
    }
  },
  "usageReports.report": { body: report, answer: { success: true, data: { ...report, total: 1 } } }
})

const loggedRequest = {
  id: "rq_0mk3v7q2f5pVbXq2nLr8sWc1yTzKd3M",
  at: exampleMillis,
  mode: "live",
  keyId: key.id,
  method: "POST",
  path: "/v1/send/emails",
  route: "/v1/send/emails",
  status: 429,
  code: "probation_limit_reached",
  durationMillis: 3,
  requestId: "req_3f6c8a52-4a0e-4d53-9d0c-7f6f2a1b9c11",
  address: "203.0.113.7",
  count: 1
}

/** A request to send that a cap has refused. */
export const requestDetail = {
  ...loggedRequest,
  requestBody: '{"from":"[removed]","to":["[removed]"],"subject":"[removed]","text":"[removed]"}',
  answerBody:
    '{"error":{"code":"probation_limit_reached","message":"The probation limit of 50 emails per hour is reached. Retry after 1800 s.","limit":50,"window":"hour","metric":"sends","resetsAt":"2026-01-31T13:00:00.000Z"}}',
  facts: {
    kind: "send.refused",
    account: "live",
    code: "probation_limit_reached",
    recipients: [1],
    senders: { "9f2c1d7e5a3b48c6a0d4e8f1b2c3d4e5": 1 },
    domains: { "0b7e4f9a1c2d3e5f6a7b8c9d0e1f2a3b": 1 },
    furtherRecipients: 0,
    scheduled: 0
  }
}

const member = {
  id: "mem_3M5pVbXq2nLr8sWc1yTzKd",
  email: "ann@example.com",
  role: "developer",
  state: "invited",
  invitedAt: exampleMillis,
  joinedAt: null
}

/** Members, and their way into the console. */
export const memberExamples = (): OperationExamples => ({
  "members.list": { answer: { data: [{ ...member, state: "active", joinedAt: exampleMillis }] } },
  "members.invite": {
    body: { email: member.email, role: member.role },
    answer: { ...member, delivery: "mailed", link: null }
  },
  "members.update": { body: { role: "viewer" }, answer: { ...member, role: "viewer" } },
  "members.remove": { answer: member },
  "members.resend": { answer: { ...member, delivery: "mailed", link: null } },
  "console.signInLink": { body: { email: member.email }, answer: { accepted: true } },
  "console.list": { answer: { data: [listedSession], pagination: lastPage } },
  "console.end": { answer: listedSession },
  "console.organization": {
    body: { organizationId },
    answer: { organizationId, expiresAt: exampleMillis + 28_800_000 }
  }
})

const listedSession = {
  id: "ses_8sWc1yTzKd3M5pVbXq2nLr",
  member: { id: member.id, email: member.email, role: member.role },
  keyId: null,
  mode: null,
  createdAt: exampleMillis,
  lastUsedAt: exampleMillis + 60_000,
  expiresAt: exampleMillis + 28_800_000,
  address: "203.0.113.7",
  browser: "Firefox on Linux",
  current: true
}

/** Keys and sessions. */
export const accessExamples = (): OperationExamples => ({
  "ownKeys.list": { answer: { data: [key], pagination: lastPage } },
  "ownKeys.create": {
    body: { name: key.name, services: key.services, scopes: key.scopes },
    answer: { ...key, key: secret }
  },
  "ownKeys.rotate": { body: { overlapSeconds: 86_400 }, answer: { ...key, key: secret } },
  "ownKeys.revoke": { answer: { ...key, active: false } },
  "audit.list": {
    answer: {
      data: [
        {
          id: "aud_5pVbXq2nLr8sWc1yTzKd3M",
          at: exampleMillis,
          act: "key.created",
          mode: "live",
          actor: { type: "session", id: key.id },
          address: "203.0.113.7",
          object: key.id,
          requestId: "req_3f6c8a52-4a0e-4d53-9d0c-7f6f2a1b9c11"
        }
      ],
      pagination: lastPage
    }
  },
  "requests.list": { answer: { data: [loggedRequest], pagination: lastPage } },
  "requests.get": { answer: requestDetail },
  "console.open": { body: { key: secret }, answer: { organizationId, expiresAt: exampleMillis + 28_800_000 } },
  "console.get": {
    answer: {
      organization: { id: organizationId, name: "Acme", plan: "team", sendPlan: "pro" },
      keyId: key.id,
      mode: "test",
      modes: ["test"],
      member: null,
      organizations: [],
      services: key.services,
      scopes: key.scopes,
      expiresAt: null
    }
  },
  "console.portal": {
    answer: {
      label: "customer-17",
      organization: { name: "Acme" },
      mode: "live",
      types: ["telco.*"],
      expiresAt: exampleMillis + 28_800_000
    }
  },
  "console.close": { answer: { closed: true } }
})
