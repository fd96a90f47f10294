/**
 * Names the acts that the audit log keeps (docs/platform.md, 2.11), by the endpoints of the public API that do them. The
 * other endpoints change nothing that people would ask about later: they send, look up, report and repeat, and their
 * traces are emails, events and figures.
 */
const actsOfEndpoints = {
  "POST /v1/keys": "key.created",
  "POST /v1/keys/:id/rotate": "key.rotated",
  "DELETE /v1/keys/:id": "key.revoked",
  "POST /v1/members": "member.invited",
  "PATCH /v1/members/:id": "member.role_changed",
  "DELETE /v1/members/:id": "member.removed",
  "POST /v1/members/:id/resend": "member.invited_again",
  "DELETE /v1/console/sessions/:id": "session.ended",
  "POST /v1/webhooks": "webhook_endpoint.created",
  "PATCH /v1/webhooks/:id": "webhook_endpoint.updated",
  "DELETE /v1/webhooks/:id": "webhook_endpoint.deleted",
  "POST /v1/webhooks/:id/unpause": "webhook_endpoint.resumed",
  "POST /v1/webhooks/:id/rotate-secret": "webhook_endpoint.secret_rotated",
  "POST /v1/webhooks/:id/replay": "webhook_endpoint.replayed",
  "POST /v1/webhooks/portal": "portal_link.created",
  "POST /v1/send/domains": "domain.added",
  "POST /v1/send/domains/:id/rotate-key": "domain.key_rotated",
  "DELETE /v1/send/domains/:id": "domain.deleted",
  "POST /v1/send/senders": "sender.added",
  "DELETE /v1/send/senders/:id": "sender.deleted",
  "DELETE /v1/send/suppressions/:idOrEmail": "suppression.removed",
  "POST /v1/send/suppressions/batch/remove": "suppressions.removed",
  "POST /v1/send/suppressions/batch/add": "suppressions.added",
  "POST /v1/send/tenants/reset": "test_account.reset",
  "POST /v1/billing/checkout": "subscription.checkout_opened",
  "POST /v1/billing/cancel": "subscription.cancelled",
  "POST /v1/billing/resume": "subscription.resumed"
} as const

/** Whether an act belongs to neither mode: people and their sessions act in both. */
export const isOfNeitherMode = (act: string): boolean => act.startsWith("member.") || act.startsWith("session.")

/** The acts, besides those of operators. */
export type AuditedAct = (typeof actsOfEndpoints)[keyof typeof actsOfEndpoints]

/** The act of an endpoint; undefined where none is kept. */
export const actOf = ({ method, path }: { readonly method: string; readonly path: string }): AuditedAct | undefined =>
  (actsOfEndpoints as Readonly<Record<string, AuditedAct>>)[`${method} ${path}`]

/** The endpoints whose acts are kept, as `METHOD /path`. */
export const auditedEndpoints: ReadonlyArray<string> = Object.keys(actsOfEndpoints)
