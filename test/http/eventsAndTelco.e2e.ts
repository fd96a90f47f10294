/** Events and telco over HTTP in the running platform, as their users see them: one section a topic. */
import { useSharedPlatform } from "../support/sharedPlatform.ts"
import { eventsSection } from "./sections/events.ts"
import { streamSection } from "./sections/stream.ts"
import { telcoSection } from "./sections/telco.ts"

const platform = useSharedPlatform()

telcoSection(platform)
eventsSection(platform)
streamSection(platform)
