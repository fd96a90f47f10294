/**
 * Lists and texts that are drawn grow to this length over the runs of a property. Without it they end at ten, before much can have gone wrong: half of
 * the histories would have two steps at most.
 */
import { Arbitrary } from "effect"

Arbitrary.configureGlobal({ check: { size: 60 } })
