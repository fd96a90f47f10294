/** Events and telco over HTTP, as their users see them: one running platform, one section a topic. They run in this order; the last one stops it. */
import { usePlatform } from "./harness.ts"
import { eventsSection } from "./sections/events.ts"
import { malformedEventsSection } from "./sections/malformedEvents.ts"
import { streamSection } from "./sections/stream.ts"
import { telcoSection } from "./sections/telco.ts"
import { telcoOutageSection } from "./sections/telcoOutage.ts"

const platform = usePlatform()

telcoSection(platform)
eventsSection(platform)
streamSection(platform)
malformedEventsSection(platform)
telcoOutageSection(platform)
