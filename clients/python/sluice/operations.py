"""Written by clients/generate.ts from openapi.json. Do not edit."""
from typing import Any
from urllib.parse import quote


def _part(text: str) -> str:
    return quote(text, safe="")


class Operations:
    """One method for each operation. A query's parameters are keyword arguments."""

    def request(self, method: str, path: str, query: Any, body: Any) -> Any:
        raise NotImplementedError

    def directory_list_carriers(self, **query: Any) -> Any:
        """List carriers."""
        return self.request("GET", "/v1/carriers", query, None)

    def directory_get_carrier(self, ocn: str, **query: Any) -> Any:
        """Get a carrier."""
        return self.request("GET", f"/v1/carrier/{_part(ocn)}", query, None)

    def directory_get_carrier_by_query(self, **query: Any) -> Any:
        """Get a carrier, OCN in the query."""
        return self.request("GET", "/v1/carrier", query, None)

    def directory_get_area_code(self, npa: str, **query: Any) -> Any:
        """Get an area code."""
        return self.request("GET", f"/v1/npa/{_part(npa)}", query, None)

    def directory_get_exchange(self, npa: str, nxx: str, **query: Any) -> Any:
        """Get one exchange of an area code."""
        return self.request("GET", f"/v1/npa/{_part(npa)}/nxx/{_part(nxx)}", query, None)

    def directory_get_area_code_by_query(self, **query: Any) -> Any:
        """Get an area code, NPA in the query."""
        return self.request("GET", "/v1/npa", query, None)

    def directory_list_changes(self, **query: Any) -> Any:
        """List changes."""
        return self.request("GET", "/v1/directory/changes", query, None)

    def directory_health(self, **query: Any) -> Any:
        """Service health."""
        return self.request("GET", "/v1/health", query, None)

    def directory_health_unversioned(self, **query: Any) -> Any:
        """Service health."""
        return self.request("GET", "/health", query, None)

    def directory_stats(self, **query: Any) -> Any:
        """Database statistics."""
        return self.request("GET", "/v1/stats", query, None)

    def directory_stats_unversioned(self, **query: Any) -> Any:
        """Database statistics."""
        return self.request("GET", "/stats", query, None)

    def events_list(self, **query: Any) -> Any:
        """List events."""
        return self.request("GET", "/v1/events", query, None)

    def events_types(self, **query: Any) -> Any:
        """List the types of events."""
        return self.request("GET", "/v1/events/types", query, None)

    def events_rates(self, **query: Any) -> Any:
        """Count events by the minute."""
        return self.request("GET", "/v1/events/rates", query, None)

    def events_get(self, id: str, **query: Any) -> Any:
        """Get an event."""
        return self.request("GET", f"/v1/events/{_part(id)}", query, None)

    def events_origin(self, id: str, **query: Any) -> Any:
        """Tell which decision an event comes from."""
        return self.request("GET", f"/v1/events/{_part(id)}/origin", query, None)

    def telco_lookup(self, tn: str, **query: Any) -> Any:
        """Look up a number."""
        return self.request("GET", f"/v1/telco/lookup/{_part(tn)}", query, None)

    def telco_lookups(self, body: Any = None, **query: Any) -> Any:
        """Look up many numbers."""
        return self.request("POST", "/v1/telco/lookups", query, body)

    def telco_search(self, **query: Any) -> Any:
        """Search codes or the inventory."""
        return self.request("GET", "/v1/telco/search", query, None)

    def talk_speech(self, body: Any = None, **query: Any) -> Any:
        """Speak a text."""
        return self.request("POST", "/v1/talk/speech", query, body)

    def talk_voices(self, **query: Any) -> Any:
        """List voices."""
        return self.request("GET", "/v1/talk/voices", query, None)

    def talk_formats(self, **query: Any) -> Any:
        """List formats."""
        return self.request("GET", "/v1/talk/formats", query, None)

    def webhooks_create(self, body: Any = None, **query: Any) -> Any:
        """Create an endpoint."""
        return self.request("POST", "/v1/webhooks", query, body)

    def webhooks_list(self, **query: Any) -> Any:
        """List endpoints, oldest first."""
        return self.request("GET", "/v1/webhooks", query, None)

    def webhooks_list_keys(self, **query: Any) -> Any:
        """List the public keys of an endpoint."""
        return self.request("GET", "/.well-known/webhook-keys", query, None)

    def webhooks_create_portal_link(self, body: Any = None, **query: Any) -> Any:
        """Create a link to the portal of a label."""
        return self.request("POST", "/v1/webhooks/portal", query, body)

    def webhooks_list_sources(self, **query: Any) -> Any:
        """List the addresses from which deliveries come."""
        return self.request("GET", "/v1/webhooks/source-addresses", query, None)

    def webhooks_get(self, id: str, **query: Any) -> Any:
        """Get an endpoint."""
        return self.request("GET", f"/v1/webhooks/{_part(id)}", query, None)

    def webhooks_update(self, id: str, body: Any = None, **query: Any) -> Any:
        """Change an endpoint."""
        return self.request("PATCH", f"/v1/webhooks/{_part(id)}", query, body)

    def webhooks_delete(self, id: str, **query: Any) -> Any:
        """Delete an endpoint."""
        return self.request("DELETE", f"/v1/webhooks/{_part(id)}", query, None)

    def webhooks_test(self, id: str, **query: Any) -> Any:
        """Send a test event."""
        return self.request("POST", f"/v1/webhooks/{_part(id)}/test", query, None)

    def webhooks_unpause(self, id: str, body: Any = None, **query: Any) -> Any:
        """Resume a paused endpoint."""
        return self.request("POST", f"/v1/webhooks/{_part(id)}/unpause", query, body)

    def webhooks_rotate_secret(self, id: str, body: Any = None, **query: Any) -> Any:
        """Give a new signing secret."""
        return self.request("POST", f"/v1/webhooks/{_part(id)}/rotate-secret", query, body)

    def webhooks_list_deliveries(self, id: str, **query: Any) -> Any:
        """List deliveries, newest first."""
        return self.request("GET", f"/v1/webhooks/{_part(id)}/deliveries", query, None)

    def webhooks_get_delivery(self, id: str, delivery_id: str, **query: Any) -> Any:
        """Get a delivery with its attempts."""
        return self.request("GET", f"/v1/webhooks/{_part(id)}/deliveries/{_part(delivery_id)}", query, None)

    def webhooks_get_delivery_request(self, id: str, delivery_id: str, **query: Any) -> Any:
        """Get what an attempt sends."""
        return self.request("GET", f"/v1/webhooks/{_part(id)}/deliveries/{_part(delivery_id)}/request", query, None)

    def webhooks_retry_delivery(self, id: str, delivery_id: str, **query: Any) -> Any:
        """Send a delivery once more."""
        return self.request("POST", f"/v1/webhooks/{_part(id)}/deliveries/{_part(delivery_id)}/retry", query, None)

    def webhooks_list_skipped(self, id: str, **query: Any) -> Any:
        """List skipped events, newest first."""
        return self.request("GET", f"/v1/webhooks/{_part(id)}/skipped", query, None)

    def webhooks_replay(self, id: str, body: Any = None, **query: Any) -> Any:
        """Send events of the past again."""
        return self.request("POST", f"/v1/webhooks/{_part(id)}/replay", query, body)

    def webhooks_get_replay(self, id: str, replay_id: str, **query: Any) -> Any:
        """Get how far a replay has come."""
        return self.request("GET", f"/v1/webhooks/{_part(id)}/replays/{_part(replay_id)}", query, None)

    def webhooks_get_metrics(self, id: str, **query: Any) -> Any:
        """Get figures of an endpoint's attempts by hour or day."""
        return self.request("GET", f"/v1/webhooks/{_part(id)}/metrics", query, None)

    def event_deliveries_list(self, id: str, **query: Any) -> Any:
        """List an event's deliveries, newest first."""
        return self.request("GET", f"/v1/events/{_part(id)}/deliveries", query, None)

    def emails_send(self, body: Any = None, **query: Any) -> Any:
        """Send an email."""
        return self.request("POST", "/v1/send/emails/send", query, body)

    def emails_create(self, body: Any = None, **query: Any) -> Any:
        """Send an email."""
        return self.request("POST", "/v1/send/emails", query, body)

    def emails_list(self, **query: Any) -> Any:
        """List emails, newest first."""
        return self.request("GET", "/v1/send/emails", query, None)

    def emails_batch(self, body: Any = None, **query: Any) -> Any:
        """Send up to 100 emails."""
        return self.request("POST", "/v1/send/emails/batch", query, body)

    def emails_export(self, **query: Any) -> Any:
        """Export emails as CSV."""
        return self.request("GET", "/v1/send/emails/export", query, None)

    def emails_get(self, id: str, **query: Any) -> Any:
        """Get an email."""
        return self.request("GET", f"/v1/send/emails/{_part(id)}", query, None)

    def emails_reschedule(self, id: str, body: Any = None, **query: Any) -> Any:
        """Give a scheduled email another time."""
        return self.request("PATCH", f"/v1/send/emails/{_part(id)}", query, body)

    def emails_cancel(self, id: str, **query: Any) -> Any:
        """Take an email back."""
        return self.request("POST", f"/v1/send/emails/{_part(id)}/cancel", query, None)

    def send_domains_create(self, body: Any = None, **query: Any) -> Any:
        """Add a domain."""
        return self.request("POST", "/v1/send/domains", query, body)

    def send_domains_list(self, **query: Any) -> Any:
        """List domains, newest first."""
        return self.request("GET", "/v1/send/domains", query, None)

    def send_domains_get(self, id: str, **query: Any) -> Any:
        """Get a domain, its records and its standing."""
        return self.request("GET", f"/v1/send/domains/{_part(id)}", query, None)

    def send_domains_delete(self, id: str, **query: Any) -> Any:
        """Delete a domain."""
        return self.request("DELETE", f"/v1/send/domains/{_part(id)}", query, None)

    def send_domains_records(self, id: str, **query: Any) -> Any:
        """Compare a domain's records with what is there."""
        return self.request("GET", f"/v1/send/domains/{_part(id)}/records", query, None)

    def send_domains_reports(self, id: str, **query: Any) -> Any:
        """Get the reports of other mail systems about a domain."""
        return self.request("GET", f"/v1/send/domains/{_part(id)}/reports", query, None)

    def send_domains_verify(self, id: str, **query: Any) -> Any:
        """Look for a domain's records now."""
        return self.request("POST", f"/v1/send/domains/{_part(id)}/verify", query, None)

    def send_domains_rotate_key(self, id: str, **query: Any) -> Any:
        """Make a domain's next DKIM key."""
        return self.request("POST", f"/v1/send/domains/{_part(id)}/rotate-key", query, None)

    def send_senders_create(self, body: Any = None, **query: Any) -> Any:
        """Mail a link to an address."""
        return self.request("POST", "/v1/send/senders", query, body)

    def send_senders_list(self, **query: Any) -> Any:
        """List addresses, newest first."""
        return self.request("GET", "/v1/send/senders", query, None)

    def send_senders_get(self, id: str, **query: Any) -> Any:
        """Get an address and its standing."""
        return self.request("GET", f"/v1/send/senders/{_part(id)}", query, None)

    def send_senders_delete(self, id: str, **query: Any) -> Any:
        """Delete an address."""
        return self.request("DELETE", f"/v1/send/senders/{_part(id)}", query, None)

    def send_suppressions_add(self, body: Any = None, **query: Any) -> Any:
        """Suppress an address."""
        return self.request("POST", "/v1/send/suppressions", query, body)

    def send_suppressions_list(self, **query: Any) -> Any:
        """List suppressed addresses, newest first."""
        return self.request("GET", "/v1/send/suppressions", query, None)

    def send_suppressions_export(self, **query: Any) -> Any:
        """Export the suppressed addresses as CSV."""
        return self.request("GET", "/v1/send/suppressions/export", query, None)

    def send_suppressions_get(self, id_or_email: str, **query: Any) -> Any:
        """Get a suppressed address by its id or itself."""
        return self.request("GET", f"/v1/send/suppressions/{_part(id_or_email)}", query, None)

    def send_suppressions_delete(self, id_or_email: str, **query: Any) -> Any:
        """Take an address off the list."""
        return self.request("DELETE", f"/v1/send/suppressions/{_part(id_or_email)}", query, None)

    def send_suppressions_add_batch(self, body: Any = None, **query: Any) -> Any:
        """Suppress up to 100 addresses."""
        return self.request("POST", "/v1/send/suppressions/batch/add", query, body)

    def send_suppressions_remove_batch(self, body: Any = None, **query: Any) -> Any:
        """Take up to 100 addresses off the list."""
        return self.request("POST", "/v1/send/suppressions/batch/remove", query, body)

    def send_tenants_get(self, **query: Any) -> Any:
        """Get the stage of the key's account, and what it has used of its limits."""
        return self.request("GET", "/v1/send/tenants", query, None)

    def send_tenants_facts(self, **query: Any) -> Any:
        """List what led to the stage of the key's account."""
        return self.request("GET", "/v1/send/tenants/facts", query, None)

    def send_tenants_reset(self, **query: Any) -> Any:
        """Start the test account anew."""
        return self.request("POST", "/v1/send/tenants/reset", query, None)

    def send_metrics_get(self, **query: Any) -> Any:
        """Get figures of emails by hour or day."""
        return self.request("GET", "/v1/send/metrics", query, None)

    def send_feedback_report(self, body: Any = None, **query: Any) -> Any:
        """Report what became of emails."""
        return self.request("POST", "/v1/send/feedback", query, body)

    def billing_subscription(self, **query: Any) -> Any:
        """Get the subscription."""
        return self.request("GET", "/v1/billing/subscription", query, None)

    def billing_invoices(self, **query: Any) -> Any:
        """List invoices, newest first."""
        return self.request("GET", "/v1/billing/invoices", query, None)

    def billing_checkout(self, body: Any = None, **query: Any) -> Any:
        """Begin a checkout."""
        return self.request("POST", "/v1/billing/checkout", query, body)

    def billing_cancel(self, body: Any = None, **query: Any) -> Any:
        """Cancel the subscription."""
        return self.request("POST", "/v1/billing/cancel", query, body)

    def billing_resume(self, **query: Any) -> Any:
        """Take a cancellation back."""
        return self.request("POST", "/v1/billing/resume", query, None)

    def billing_prices(self, **query: Any) -> Any:
        """List the subscriptions on sale."""
        return self.request("GET", "/v1/billing/prices", query, None)

    def usage_entitlement(self, **query: Any) -> Any:
        """See what the plans in force allow of a product."""
        return self.request("GET", "/v1/billing/entitlement", query, None)

    def usage_usage(self, **query: Any) -> Any:
        """See what was used."""
        return self.request("GET", "/v1/billing/usage", query, None)

    def usage_reports_report(self, body: Any = None, **query: Any) -> Any:
        """Report usage from another product's site."""
        return self.request("POST", "/api/billing/usage", query, body)

    def own_keys_list(self, **query: Any) -> Any:
        """List keys, newest first, revoked ones too."""
        return self.request("GET", "/v1/keys", query, None)

    def own_keys_create(self, body: Any = None, **query: Any) -> Any:
        """Make a key."""
        return self.request("POST", "/v1/keys", query, body)

    def own_keys_rotate(self, id: str, body: Any = None, **query: Any) -> Any:
        """Rotate a key."""
        return self.request("POST", f"/v1/keys/{_part(id)}/rotate", query, body)

    def own_keys_revoke(self, id: str, **query: Any) -> Any:
        """Revoke a key."""
        return self.request("DELETE", f"/v1/keys/{_part(id)}", query, None)

    def members_list(self, **query: Any) -> Any:
        """List members."""
        return self.request("GET", "/v1/members", query, None)

    def members_invite(self, body: Any = None, **query: Any) -> Any:
        """Invite somebody."""
        return self.request("POST", "/v1/members", query, body)

    def members_update(self, id: str, body: Any = None, **query: Any) -> Any:
        """Change a role."""
        return self.request("PATCH", f"/v1/members/{_part(id)}", query, body)

    def members_remove(self, id: str, **query: Any) -> Any:
        """Remove a member, or revoke an invitation."""
        return self.request("DELETE", f"/v1/members/{_part(id)}", query, None)

    def members_resend(self, id: str, **query: Any) -> Any:
        """Send an invitation again."""
        return self.request("POST", f"/v1/members/{_part(id)}/resend", query, None)

    def audit_list(self, **query: Any) -> Any:
        """List acts, newest first."""
        return self.request("GET", "/v1/audit", query, None)

    def requests_list(self, **query: Any) -> Any:
        """List requests, newest first."""
        return self.request("GET", "/v1/requests", query, None)

    def requests_get(self, id: str, **query: Any) -> Any:
        """Get a request."""
        return self.request("GET", f"/v1/requests/{_part(id)}", query, None)

    def console_list(self, **query: Any) -> Any:
        """List sessions of the console, newest first."""
        return self.request("GET", "/v1/console/sessions", query, None)

    def console_portal(self, **query: Any) -> Any:
        """Describe the signed-in portal."""
        return self.request("GET", "/v1/console/portal", query, None)

    def console_sign_in_link(self, body: Any = None, **query: Any) -> Any:
        """Ask for a link to sign in."""
        return self.request("POST", "/v1/console/sign-in-links", query, body)

    def console_end(self, id: str, **query: Any) -> Any:
        """End a session."""
        return self.request("DELETE", f"/v1/console/sessions/{_part(id)}", query, None)

    def console_organization(self, body: Any = None, **query: Any) -> Any:
        """Go on in another organization."""
        return self.request("POST", "/v1/console/session/organization", query, body)

    def system_livez(self, **query: Any) -> Any:
        """Liveness."""
        return self.request("GET", "/livez", query, None)

    def system_readyz(self, **query: Any) -> Any:
        """Readiness."""
        return self.request("GET", "/readyz", query, None)

    def system_metrics(self, **query: Any) -> Any:
        """Metrics."""
        return self.request("GET", "/metrics", query, None)
