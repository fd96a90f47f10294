/**
 * The platform over HTTP, as its users see it, against the specification and not against its code: one running platform,
 * one section a topic. They run in this order; the last one stops it.
 */
import { usePlatform } from "./harness.ts"
import { clientSection } from "./sections/client.ts"
import { decisionsSection } from "./sections/decisions.ts"
import { directorySection } from "./sections/directory.ts"
import { errorsSection } from "./sections/errors.ts"
import { ingestionSection } from "./sections/ingestion.ts"
import { keysSection } from "./sections/keys.ts"
import { malformedSection } from "./sections/malformed.ts"
import { malformedAdminSection } from "./sections/malformedAdmin.ts"
import { malformedWebhooksSection } from "./sections/malformedWebhooks.ts"
import { outagesSection } from "./sections/outages.ts"
import { stoppingSection } from "./sections/stopping.ts"
import { systemSection } from "./sections/system.ts"
import { webhookOutagesSection } from "./sections/webhookOutages.ts"
import { webhooksSection } from "./sections/webhooks.ts"

const platform = usePlatform()

directorySection(platform)
decisionsSection(platform)
keysSection(platform)
errorsSection(platform)
systemSection(platform)
clientSection(platform)
webhooksSection(platform)
malformedSection(platform)
malformedAdminSection(platform)
malformedWebhooksSection(platform)
ingestionSection(platform)
outagesSection(platform)
webhookOutagesSection(platform)
stoppingSection(platform)
