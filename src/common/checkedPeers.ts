/**
 * Checks Node and `effect` for every entry point, which imports it first: it reports a fault before a module fails for
 * it in words of its own. Node itself reports a missing package before anything runs.
 */
import { requirePeers } from "./peers.ts"

requirePeers(["effect"])
