// Written by clients/generate.ts from openapi.json. Do not edit.

package sluice

import (
	"context"
	"net/url"
)

// DirectoryListCarriers: List carriers.
func (c *Client) DirectoryListCarriers(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/carriers", query, nil, into)
}

// DirectoryGetCarrier: Get a carrier.
func (c *Client) DirectoryGetCarrier(ctx context.Context, ocn string, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/carrier/"+url.PathEscape(ocn), query, nil, into)
}

// DirectoryGetCarrierByQuery: Get a carrier, OCN in the query.
func (c *Client) DirectoryGetCarrierByQuery(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/carrier", query, nil, into)
}

// DirectoryGetAreaCode: Get an area code.
func (c *Client) DirectoryGetAreaCode(ctx context.Context, npa string, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/npa/"+url.PathEscape(npa), query, nil, into)
}

// DirectoryGetExchange: Get one exchange of an area code.
func (c *Client) DirectoryGetExchange(ctx context.Context, npa string, nxx string, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/npa/"+url.PathEscape(npa)+"/nxx/"+url.PathEscape(nxx), query, nil, into)
}

// DirectoryGetAreaCodeByQuery: Get an area code, NPA in the query.
func (c *Client) DirectoryGetAreaCodeByQuery(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/npa", query, nil, into)
}

// DirectoryListChanges: List changes.
func (c *Client) DirectoryListChanges(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/directory/changes", query, nil, into)
}

// DirectoryHealth: Service health.
func (c *Client) DirectoryHealth(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/health", query, nil, into)
}

// DirectoryHealthUnversioned: Service health.
func (c *Client) DirectoryHealthUnversioned(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/health", query, nil, into)
}

// DirectoryStats: Database statistics.
func (c *Client) DirectoryStats(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/stats", query, nil, into)
}

// DirectoryStatsUnversioned: Database statistics.
func (c *Client) DirectoryStatsUnversioned(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/stats", query, nil, into)
}

// EventsList: List events.
func (c *Client) EventsList(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/events", query, nil, into)
}

// EventsTypes: List the types of events.
func (c *Client) EventsTypes(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/events/types", query, nil, into)
}

// EventsRates: Count events by the minute.
func (c *Client) EventsRates(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/events/rates", query, nil, into)
}

// EventsGet: Get an event.
func (c *Client) EventsGet(ctx context.Context, id string, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/events/"+url.PathEscape(id), query, nil, into)
}

// EventsOrigin: Tell which decision an event comes from.
func (c *Client) EventsOrigin(ctx context.Context, id string, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/events/"+url.PathEscape(id)+"/origin", query, nil, into)
}

// TelcoLookup: Look up a number.
func (c *Client) TelcoLookup(ctx context.Context, tn string, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/telco/lookup/"+url.PathEscape(tn), query, nil, into)
}

// TelcoLookups: Look up many numbers.
func (c *Client) TelcoLookups(ctx context.Context, query Query, body any, into any) error {
	return c.Request(ctx, "POST", "/v1/telco/lookups", query, body, into)
}

// TelcoSearch: Search codes or the inventory.
func (c *Client) TelcoSearch(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/telco/search", query, nil, into)
}

// TalkSpeech: Speak a text.
func (c *Client) TalkSpeech(ctx context.Context, query Query, body any, into any) error {
	return c.Request(ctx, "POST", "/v1/talk/speech", query, body, into)
}

// TalkVoices: List voices.
func (c *Client) TalkVoices(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/talk/voices", query, nil, into)
}

// TalkFormats: List formats.
func (c *Client) TalkFormats(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/talk/formats", query, nil, into)
}

// WebhooksCreate: Create an endpoint.
func (c *Client) WebhooksCreate(ctx context.Context, query Query, body any, into any) error {
	return c.Request(ctx, "POST", "/v1/webhooks", query, body, into)
}

// WebhooksList: List endpoints, oldest first.
func (c *Client) WebhooksList(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/webhooks", query, nil, into)
}

// WebhooksListKeys: List the public keys of an endpoint.
func (c *Client) WebhooksListKeys(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/.well-known/webhook-keys", query, nil, into)
}

// WebhooksCreatePortalLink: Create a link to the portal of a label.
func (c *Client) WebhooksCreatePortalLink(ctx context.Context, query Query, body any, into any) error {
	return c.Request(ctx, "POST", "/v1/webhooks/portal", query, body, into)
}

// WebhooksListSources: List the addresses from which deliveries come.
func (c *Client) WebhooksListSources(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/webhooks/source-addresses", query, nil, into)
}

// WebhooksGet: Get an endpoint.
func (c *Client) WebhooksGet(ctx context.Context, id string, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/webhooks/"+url.PathEscape(id), query, nil, into)
}

// WebhooksUpdate: Change an endpoint.
func (c *Client) WebhooksUpdate(ctx context.Context, id string, query Query, body any, into any) error {
	return c.Request(ctx, "PATCH", "/v1/webhooks/"+url.PathEscape(id), query, body, into)
}

// WebhooksDelete: Delete an endpoint.
func (c *Client) WebhooksDelete(ctx context.Context, id string, query Query, into any) error {
	return c.Request(ctx, "DELETE", "/v1/webhooks/"+url.PathEscape(id), query, nil, into)
}

// WebhooksTest: Send a test event.
func (c *Client) WebhooksTest(ctx context.Context, id string, query Query, into any) error {
	return c.Request(ctx, "POST", "/v1/webhooks/"+url.PathEscape(id)+"/test", query, nil, into)
}

// WebhooksUnpause: Resume a paused endpoint.
func (c *Client) WebhooksUnpause(ctx context.Context, id string, query Query, body any, into any) error {
	return c.Request(ctx, "POST", "/v1/webhooks/"+url.PathEscape(id)+"/unpause", query, body, into)
}

// WebhooksRotateSecret: Give a new signing secret.
func (c *Client) WebhooksRotateSecret(ctx context.Context, id string, query Query, body any, into any) error {
	return c.Request(ctx, "POST", "/v1/webhooks/"+url.PathEscape(id)+"/rotate-secret", query, body, into)
}

// WebhooksListDeliveries: List deliveries, newest first.
func (c *Client) WebhooksListDeliveries(ctx context.Context, id string, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/webhooks/"+url.PathEscape(id)+"/deliveries", query, nil, into)
}

// WebhooksGetDelivery: Get a delivery with its attempts.
func (c *Client) WebhooksGetDelivery(ctx context.Context, id string, deliveryId string, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/webhooks/"+url.PathEscape(id)+"/deliveries/"+url.PathEscape(deliveryId), query, nil, into)
}

// WebhooksGetDeliveryRequest: Get what an attempt sends.
func (c *Client) WebhooksGetDeliveryRequest(ctx context.Context, id string, deliveryId string, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/webhooks/"+url.PathEscape(id)+"/deliveries/"+url.PathEscape(deliveryId)+"/request", query, nil, into)
}

// WebhooksRetryDelivery: Send a delivery once more.
func (c *Client) WebhooksRetryDelivery(ctx context.Context, id string, deliveryId string, query Query, into any) error {
	return c.Request(ctx, "POST", "/v1/webhooks/"+url.PathEscape(id)+"/deliveries/"+url.PathEscape(deliveryId)+"/retry", query, nil, into)
}

// WebhooksListSkipped: List skipped events, newest first.
func (c *Client) WebhooksListSkipped(ctx context.Context, id string, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/webhooks/"+url.PathEscape(id)+"/skipped", query, nil, into)
}

// WebhooksReplay: Send events of the past again.
func (c *Client) WebhooksReplay(ctx context.Context, id string, query Query, body any, into any) error {
	return c.Request(ctx, "POST", "/v1/webhooks/"+url.PathEscape(id)+"/replay", query, body, into)
}

// WebhooksGetReplay: Get how far a replay has come.
func (c *Client) WebhooksGetReplay(ctx context.Context, id string, replayId string, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/webhooks/"+url.PathEscape(id)+"/replays/"+url.PathEscape(replayId), query, nil, into)
}

// WebhooksGetMetrics: Get figures of an endpoint's attempts by hour or day.
func (c *Client) WebhooksGetMetrics(ctx context.Context, id string, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/webhooks/"+url.PathEscape(id)+"/metrics", query, nil, into)
}

// EventDeliveriesList: List an event's deliveries, newest first.
func (c *Client) EventDeliveriesList(ctx context.Context, id string, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/events/"+url.PathEscape(id)+"/deliveries", query, nil, into)
}

// EmailsSend: Send an email.
func (c *Client) EmailsSend(ctx context.Context, query Query, body any, into any) error {
	return c.Request(ctx, "POST", "/v1/send/emails/send", query, body, into)
}

// EmailsCreate: Send an email.
func (c *Client) EmailsCreate(ctx context.Context, query Query, body any, into any) error {
	return c.Request(ctx, "POST", "/v1/send/emails", query, body, into)
}

// EmailsList: List emails, newest first.
func (c *Client) EmailsList(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/send/emails", query, nil, into)
}

// EmailsBatch: Send up to 100 emails.
func (c *Client) EmailsBatch(ctx context.Context, query Query, body any, into any) error {
	return c.Request(ctx, "POST", "/v1/send/emails/batch", query, body, into)
}

// EmailsExport: Export emails as CSV.
func (c *Client) EmailsExport(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/send/emails/export", query, nil, into)
}

// EmailsGet: Get an email.
func (c *Client) EmailsGet(ctx context.Context, id string, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/send/emails/"+url.PathEscape(id), query, nil, into)
}

// EmailsReschedule: Give a scheduled email another time.
func (c *Client) EmailsReschedule(ctx context.Context, id string, query Query, body any, into any) error {
	return c.Request(ctx, "PATCH", "/v1/send/emails/"+url.PathEscape(id), query, body, into)
}

// EmailsCancel: Take an email back.
func (c *Client) EmailsCancel(ctx context.Context, id string, query Query, into any) error {
	return c.Request(ctx, "POST", "/v1/send/emails/"+url.PathEscape(id)+"/cancel", query, nil, into)
}

// SendDomainsCreate: Add a domain.
func (c *Client) SendDomainsCreate(ctx context.Context, query Query, body any, into any) error {
	return c.Request(ctx, "POST", "/v1/send/domains", query, body, into)
}

// SendDomainsList: List domains, newest first.
func (c *Client) SendDomainsList(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/send/domains", query, nil, into)
}

// SendDomainsGet: Get a domain, its records and its standing.
func (c *Client) SendDomainsGet(ctx context.Context, id string, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/send/domains/"+url.PathEscape(id), query, nil, into)
}

// SendDomainsDelete: Delete a domain.
func (c *Client) SendDomainsDelete(ctx context.Context, id string, query Query, into any) error {
	return c.Request(ctx, "DELETE", "/v1/send/domains/"+url.PathEscape(id), query, nil, into)
}

// SendDomainsRecords: Compare a domain's records with what is there.
func (c *Client) SendDomainsRecords(ctx context.Context, id string, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/send/domains/"+url.PathEscape(id)+"/records", query, nil, into)
}

// SendDomainsReports: Get the reports of other mail systems about a domain.
func (c *Client) SendDomainsReports(ctx context.Context, id string, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/send/domains/"+url.PathEscape(id)+"/reports", query, nil, into)
}

// SendDomainsVerify: Look for a domain's records now.
func (c *Client) SendDomainsVerify(ctx context.Context, id string, query Query, into any) error {
	return c.Request(ctx, "POST", "/v1/send/domains/"+url.PathEscape(id)+"/verify", query, nil, into)
}

// SendDomainsRotateKey: Make a domain's next DKIM key.
func (c *Client) SendDomainsRotateKey(ctx context.Context, id string, query Query, into any) error {
	return c.Request(ctx, "POST", "/v1/send/domains/"+url.PathEscape(id)+"/rotate-key", query, nil, into)
}

// SendSendersCreate: Mail a link to an address.
func (c *Client) SendSendersCreate(ctx context.Context, query Query, body any, into any) error {
	return c.Request(ctx, "POST", "/v1/send/senders", query, body, into)
}

// SendSendersList: List addresses, newest first.
func (c *Client) SendSendersList(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/send/senders", query, nil, into)
}

// SendSendersGet: Get an address and its standing.
func (c *Client) SendSendersGet(ctx context.Context, id string, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/send/senders/"+url.PathEscape(id), query, nil, into)
}

// SendSendersDelete: Delete an address.
func (c *Client) SendSendersDelete(ctx context.Context, id string, query Query, into any) error {
	return c.Request(ctx, "DELETE", "/v1/send/senders/"+url.PathEscape(id), query, nil, into)
}

// SendSuppressionsAdd: Suppress an address.
func (c *Client) SendSuppressionsAdd(ctx context.Context, query Query, body any, into any) error {
	return c.Request(ctx, "POST", "/v1/send/suppressions", query, body, into)
}

// SendSuppressionsList: List suppressed addresses, newest first.
func (c *Client) SendSuppressionsList(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/send/suppressions", query, nil, into)
}

// SendSuppressionsExport: Export the suppressed addresses as CSV.
func (c *Client) SendSuppressionsExport(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/send/suppressions/export", query, nil, into)
}

// SendSuppressionsGet: Get a suppressed address by its id or itself.
func (c *Client) SendSuppressionsGet(ctx context.Context, idOrEmail string, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/send/suppressions/"+url.PathEscape(idOrEmail), query, nil, into)
}

// SendSuppressionsDelete: Take an address off the list.
func (c *Client) SendSuppressionsDelete(ctx context.Context, idOrEmail string, query Query, into any) error {
	return c.Request(ctx, "DELETE", "/v1/send/suppressions/"+url.PathEscape(idOrEmail), query, nil, into)
}

// SendSuppressionsAddBatch: Suppress up to 100 addresses.
func (c *Client) SendSuppressionsAddBatch(ctx context.Context, query Query, body any, into any) error {
	return c.Request(ctx, "POST", "/v1/send/suppressions/batch/add", query, body, into)
}

// SendSuppressionsRemoveBatch: Take up to 100 addresses off the list.
func (c *Client) SendSuppressionsRemoveBatch(ctx context.Context, query Query, body any, into any) error {
	return c.Request(ctx, "POST", "/v1/send/suppressions/batch/remove", query, body, into)
}

// SendTenantsGet: Get the stage of the key's account, and what it has used of its limits.
func (c *Client) SendTenantsGet(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/send/tenants", query, nil, into)
}

// SendTenantsFacts: List what led to the stage of the key's account.
func (c *Client) SendTenantsFacts(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/send/tenants/facts", query, nil, into)
}

// SendTenantsReset: Start the test account anew.
func (c *Client) SendTenantsReset(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "POST", "/v1/send/tenants/reset", query, nil, into)
}

// SendMetricsGet: Get figures of emails by hour or day.
func (c *Client) SendMetricsGet(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/send/metrics", query, nil, into)
}

// SendFeedbackReport: Report what became of emails.
func (c *Client) SendFeedbackReport(ctx context.Context, query Query, body any, into any) error {
	return c.Request(ctx, "POST", "/v1/send/feedback", query, body, into)
}

// BillingSubscription: Get the subscription.
func (c *Client) BillingSubscription(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/billing/subscription", query, nil, into)
}

// BillingInvoices: List invoices, newest first.
func (c *Client) BillingInvoices(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/billing/invoices", query, nil, into)
}

// BillingCheckout: Begin a checkout.
func (c *Client) BillingCheckout(ctx context.Context, query Query, body any, into any) error {
	return c.Request(ctx, "POST", "/v1/billing/checkout", query, body, into)
}

// BillingCancel: Cancel the subscription.
func (c *Client) BillingCancel(ctx context.Context, query Query, body any, into any) error {
	return c.Request(ctx, "POST", "/v1/billing/cancel", query, body, into)
}

// BillingResume: Take a cancellation back.
func (c *Client) BillingResume(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "POST", "/v1/billing/resume", query, nil, into)
}

// BillingPrices: List the subscriptions on sale.
func (c *Client) BillingPrices(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/billing/prices", query, nil, into)
}

// UsageEntitlement: See what the plans in force allow of a product.
func (c *Client) UsageEntitlement(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/billing/entitlement", query, nil, into)
}

// UsageUsage: See what was used.
func (c *Client) UsageUsage(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/billing/usage", query, nil, into)
}

// UsageReportsReport: Report usage from another product's site.
func (c *Client) UsageReportsReport(ctx context.Context, query Query, body any, into any) error {
	return c.Request(ctx, "POST", "/api/billing/usage", query, body, into)
}

// OwnKeysList: List keys, newest first, revoked ones too.
func (c *Client) OwnKeysList(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/keys", query, nil, into)
}

// OwnKeysCreate: Make a key.
func (c *Client) OwnKeysCreate(ctx context.Context, query Query, body any, into any) error {
	return c.Request(ctx, "POST", "/v1/keys", query, body, into)
}

// OwnKeysRotate: Rotate a key.
func (c *Client) OwnKeysRotate(ctx context.Context, id string, query Query, body any, into any) error {
	return c.Request(ctx, "POST", "/v1/keys/"+url.PathEscape(id)+"/rotate", query, body, into)
}

// OwnKeysRevoke: Revoke a key.
func (c *Client) OwnKeysRevoke(ctx context.Context, id string, query Query, into any) error {
	return c.Request(ctx, "DELETE", "/v1/keys/"+url.PathEscape(id), query, nil, into)
}

// MembersList: List members.
func (c *Client) MembersList(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/members", query, nil, into)
}

// MembersInvite: Invite somebody.
func (c *Client) MembersInvite(ctx context.Context, query Query, body any, into any) error {
	return c.Request(ctx, "POST", "/v1/members", query, body, into)
}

// MembersUpdate: Change a role.
func (c *Client) MembersUpdate(ctx context.Context, id string, query Query, body any, into any) error {
	return c.Request(ctx, "PATCH", "/v1/members/"+url.PathEscape(id), query, body, into)
}

// MembersRemove: Remove a member, or revoke an invitation.
func (c *Client) MembersRemove(ctx context.Context, id string, query Query, into any) error {
	return c.Request(ctx, "DELETE", "/v1/members/"+url.PathEscape(id), query, nil, into)
}

// MembersResend: Send an invitation again.
func (c *Client) MembersResend(ctx context.Context, id string, query Query, into any) error {
	return c.Request(ctx, "POST", "/v1/members/"+url.PathEscape(id)+"/resend", query, nil, into)
}

// AuditList: List acts, newest first.
func (c *Client) AuditList(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/audit", query, nil, into)
}

// RequestsList: List requests, newest first.
func (c *Client) RequestsList(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/requests", query, nil, into)
}

// RequestsGet: Get a request.
func (c *Client) RequestsGet(ctx context.Context, id string, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/requests/"+url.PathEscape(id), query, nil, into)
}

// ConsoleList: List sessions of the console, newest first.
func (c *Client) ConsoleList(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/console/sessions", query, nil, into)
}

// ConsolePortal: Describe the signed-in portal.
func (c *Client) ConsolePortal(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/v1/console/portal", query, nil, into)
}

// ConsoleSignInLink: Ask for a link to sign in.
func (c *Client) ConsoleSignInLink(ctx context.Context, query Query, body any, into any) error {
	return c.Request(ctx, "POST", "/v1/console/sign-in-links", query, body, into)
}

// ConsoleEnd: End a session.
func (c *Client) ConsoleEnd(ctx context.Context, id string, query Query, into any) error {
	return c.Request(ctx, "DELETE", "/v1/console/sessions/"+url.PathEscape(id), query, nil, into)
}

// ConsoleOrganization: Go on in another organization.
func (c *Client) ConsoleOrganization(ctx context.Context, query Query, body any, into any) error {
	return c.Request(ctx, "POST", "/v1/console/session/organization", query, body, into)
}

// SystemLivez: Liveness.
func (c *Client) SystemLivez(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/livez", query, nil, into)
}

// SystemReadyz: Readiness.
func (c *Client) SystemReadyz(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/readyz", query, nil, into)
}

// SystemMetrics: Metrics.
func (c *Client) SystemMetrics(ctx context.Context, query Query, into any) error {
	return c.Request(ctx, "GET", "/metrics", query, nil, into)
}
