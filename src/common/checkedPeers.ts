/**
 * Imported first by every entry point: says what is wrong with Node or `effect` before a module runs that would fail for it in words of its own. What is
 * not installed at all Node itself names before anything runs.
 */
import { requirePeers } from "./peers.ts"

requirePeers(["effect"])
