/** Imported first by entry points that need `@effect/platform-node` beside `effect`; see checkedPeers.ts. */
import { requirePeers } from "./peers.ts"

requirePeers(["effect", "@effect/platform-node"])
