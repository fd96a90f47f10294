/** `sluice` with shorter times, so that what was under way at a kill is looked at again soon. Started by a kill run in place of the platform, which knows nothing of it. */
import { defaultHandoffSettings } from "../../src/send/handoff/Handoff.ts"
import { handoffDelaysMillis } from "../../src/send/handoff/limits.ts"

// Read when the platform is put together, which is later. A mail still has longer than the eight seconds for which it may wait for a connection.
Object.assign(defaultHandoffSettings, { leaseMillis: 14_000, attemptMillis: 12_000, deliverTimeoutMillis: 11_000 })
// After an outcome that nobody knows a mail goes again after this, in place of a minute.
Object.assign(handoffDelaysMillis, { 0: 2_000 })
await import("../../src/main.ts")
