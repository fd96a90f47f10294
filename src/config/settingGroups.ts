/**
 * Groups the settings by purpose, for `--help` and for docs/reference/settings.md, and gives examples of those without
 * a default.
 */

/** The names of the variables of each group, in the order in which they are shown. */
export const settingGroups: Readonly<Record<string, ReadonlyArray<string>>> = {
  "The API": [
    "SLUICE_HOST",
    "SLUICE_PORT",
    "SLUICE_PUBLIC_URL",
    "SLUICE_MAX_BODY_BYTES",
    "SLUICE_FAST_LANE",
    "SLUICE_UPGRADE_URL"
  ],
  "Development and the demo": ["SLUICE_DEVELOPMENT", "SLUICE_DEMO", "SLUICE_DEMO_KEY", "NODE_ENV"],
  "Data and servers": [
    "SLUICE_DATA_DIR",
    "DATABASE_URL",
    "SLUICE_DATABASE_POOL",
    "NATS_URL",
    "NATS_CREDS",
    "NATS_NKEY",
    "NATS_CA",
    "NATS_CERT",
    "NATS_KEY",
    "SLUICE_NATS_WEAK_SYNC",
    "SLUICE_POSTGRES_BIN",
    "SLUICE_NATS_SERVER"
  ],
  "Operators and secrets": [
    "SLUICE_ADMIN_HOST",
    "SLUICE_ADMIN_PORT",
    "SLUICE_ADMIN_KEY",
    "SLUICE_ADMIN_URL",
    "SLUICE_SECRETS_KEY",
    "SLUICE_API_URL",
    "SLUICE_API_KEY"
  ],
  "Logs and metrics": [
    "SLUICE_LOG_LEVEL",
    "SLUICE_LOG_FORMAT",
    "SLUICE_ACCESS_LOG",
    "SLUICE_REQUEST_LOG_SUCCESSES",
    "SLUICE_REQUEST_LOG_FAILURES",
    "SLUICE_REQUEST_LOG_DAYS",
    "SLUICE_EVENTS_DAYS",
    "SLUICE_METRICS",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_HEADERS"
  ],
  Webhooks: [
    "SLUICE_WEBHOOK_TARGETS",
    "SLUICE_WEBHOOK_RETRY_DELAYS",
    "SLUICE_WEBHOOK_TIMEOUT_MILLIS",
    "SLUICE_WEBHOOK_PROXY",
    "SLUICE_WEBHOOK_SOURCES"
  ],
  Email: [
    "SLUICE_SMTP_URL",
    "SLUICE_SMTP_TLS",
    "SLUICE_RELAY_SPF",
    "SLUICE_SMTP_CONNECTIONS",
    "SLUICE_SMTP_RATE",
    "SLUICE_HOLD_MAIL",
    "SLUICE_MAIL_FROM",
    "SLUICE_NAME_SERVERS",
    "SLUICE_BOUNCE_DOMAIN",
    "SLUICE_BOUNCE_PORT",
    "SLUICE_BOUNCE_HOST",
    "SLUICE_BOUNCE_TLS_CERT",
    "SLUICE_BOUNCE_TLS_KEY",
    "SLUICE_FEEDBACK_ADDRESSES",
    "SLUICE_SUBMISSION_PORT",
    "SLUICE_SUBMISSION_HOST",
    "SLUICE_SUBMISSION_TLS_CERT",
    "SLUICE_SUBMISSION_TLS_KEY",
    "SLUICE_CONTENTS_MAX_BYTES"
  ],
  Speech: ["SLUICE_TALK_URL", "SLUICE_TALK_KEY", "SLUICE_TALK_MODEL", "SLUICE_TALK_VOICES"],
  Billing: [
    "SLUICE_BILLING_PRICES",
    "SLUICE_BILLING_PAYMENTS",
    "SLUICE_BILLING_GRACE_DAYS",
    "SLUICE_BILLING_DUE_DAYS",
    "SLUICE_STRIPE_KEY",
    "SLUICE_STRIPE_WEBHOOK_SECRET",
    "SLUICE_STRIPE_URL"
  ],
  "Several machines or processes": ["SLUICE_WORKERS", "SLUICE_PLACEMENT", "SLUICE_ROLE", "SLUICE_NODE"],
  "The engine and its log": [
    "SLUICE_PARTITIONS",
    "SLUICE_LOG_REPLICAS",
    "SLUICE_LOG_MAX_BYTES",
    "SLUICE_LOG_NAMESPACE",
    "SLUICE_LOG_KEEP",
    "SLUICE_KEY_GRACE",
    "SLUICE_MAX_ACTORS",
    "SLUICE_MAX_LANE_ACTORS",
    "SLUICE_MAILBOX_COMMANDS",
    "SLUICE_MAILBOX_BYTES"
  ]
}

/** Values of settings that have no default, by variable. */
export const settingExamples: Readonly<Record<string, string>> = {
  SLUICE_PUBLIC_URL: "https://sluice.example.com",
  DATABASE_URL: "postgres://sluice:password@db.internal:5432/sluice",
  NATS_URL: "nats://nats.internal:4222",
  NATS_CREDS: "/run/secrets/sluice.creds",
  NATS_NKEY: "/run/secrets/sluice.nk",
  NATS_CA: "/etc/sluice/nats-ca.pem",
  NATS_CERT: "/etc/sluice/nats.pem",
  NATS_KEY: "/etc/sluice/nats-key.pem",
  SLUICE_NODE: "node-1",
  SLUICE_LOG_REPLICAS: "3",
  SLUICE_LOG_MAX_BYTES: "4294967296",
  SLUICE_LOG_NAMESPACE: "staging",
  SLUICE_ADMIN_URL: "http://10.0.0.5:8081",
  SLUICE_ADMIN_KEY: "adm_ExampleExampleExample1",
  SLUICE_API_URL: "https://sluice.example.com",
  SLUICE_API_KEY: "sk_live_ExampleExampleExample1",
  SLUICE_DEMO: "on",
  SLUICE_DEMO_KEY: "sk_live_ExampleExampleExample1",
  SLUICE_LOG_FORMAT: "json",
  SLUICE_SECRETS_KEY: "RXhhbXBsZUV4YW1wbGVFeGFtcGxlRXhhbXBsZUV4YW0=",
  SLUICE_WEBHOOK_TARGETS: "public",
  SLUICE_WEBHOOK_RETRY_DELAYS: "5s,30s,2m,15m,1h",
  SLUICE_WEBHOOK_TIMEOUT_MILLIS: "15000",
  SLUICE_WEBHOOK_PROXY: "http://user:password@proxy.example.com:3128",
  SLUICE_WEBHOOK_SOURCES: "203.0.113.7,2001:db8::/48",
  SLUICE_UPGRADE_URL: "https://example.com/plans",
  SLUICE_NAME_SERVERS: "127.0.0.1:53",
  SLUICE_SMTP_URL: "smtp://user:password@relay.example.com:587",
  SLUICE_RELAY_SPF: "include:spf.relay.example",
  SLUICE_SMTP_RATE: "50",
  SLUICE_BOUNCE_DOMAIN: "bounces.example.com",
  SLUICE_BOUNCE_PORT: "25",
  SLUICE_BOUNCE_TLS_CERT: "/etc/sluice/fullchain.pem",
  SLUICE_BOUNCE_TLS_KEY: "/etc/sluice/privkey.pem",
  SLUICE_FEEDBACK_ADDRESSES: "fbl@example.com",
  SLUICE_SUBMISSION_PORT: "587",
  SLUICE_SUBMISSION_TLS_CERT: "/etc/sluice/fullchain.pem",
  SLUICE_SUBMISSION_TLS_KEY: "/etc/sluice/privkey.pem",
  SLUICE_CONTENTS_MAX_BYTES: "4294967296",
  SLUICE_TALK_URL: "http://speech.internal:8880/v1",
  SLUICE_TALK_KEY: "example-key",
  SLUICE_BILLING_PRICES:
    '{"prices": [{"id": "team", "name": "Team", "plan": "team", "amount": 9900, "currency": "usd"}]}',
  SLUICE_BILLING_PAYMENTS: "operator",
  SLUICE_STRIPE_KEY: "sk_example",
  SLUICE_STRIPE_WEBHOOK_SECRET: "whsec_example",
  SLUICE_STRIPE_URL: "https://api.stripe.com",
  SLUICE_METRICS: "admin",
  OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector.internal:4318",
  OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20example",
  SLUICE_POSTGRES_BIN: "/usr/lib/postgresql/18/bin",
  SLUICE_NATS_SERVER: "/usr/local/bin/nats-server"
}
