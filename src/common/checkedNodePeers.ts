/**
 * Checks the peers of entry points that need `@effect/platform-node` beside `effect`, which import it first; see
 * checkedPeers.ts.
 */
import { requirePeers } from "./peers.ts"

requirePeers(["effect", "@effect/platform-node"])
