/**
 * The platform over HTTP, as its users see it, against docs/platform.md and docs/directory.md and not against its code:
 * one running platform, one section a topic. The sections run in this order; the last one stops the platform. Requests
 * are logged and traced here, so all take the general path.
 */
import { usePlatform } from "./harness.ts"
import { allSections } from "./sections/all.ts"

allSections(usePlatform())
