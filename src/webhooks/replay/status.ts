/** Lists the states of a replay. Pure; the API's description shares it. */

/** `done` once everything is queued; `cancelled` if its endpoint was deleted. */
export const replayStatuses = ["running", "done", "cancelled"] as const
export type ReplayStatus = (typeof replayStatuses)[number]
