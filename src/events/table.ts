/** Defines the name of the event log's table, which replays of webhooks read too. */
export const eventsTable = "events"
