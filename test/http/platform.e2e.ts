/**
 * The platform over HTTP, as its users see it, against the specification and not against its code: one running platform,
 * one section a topic. They run in this order; the last one stops it. Requests are logged and traced here, and so all go the
 * ordinary way.
 */
import { usePlatform } from "./harness.ts"
import { allSections } from "./sections/all.ts"

allSections(usePlatform())
