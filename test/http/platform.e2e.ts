/**
 * The platform over HTTP, as its users see it, against docs/platform.md and docs/directory.md and not against its code:
 * one running platform, one section a topic. The sections run in this order; the last one stops the platform. Requests
 * are logged and traced here, so all take the general path. What holds for every endpoint alike is in `contract.it.ts`.
 */
import { usePlatform } from "./harness.ts"
import { clientSection } from "./sections/client.ts"
import { directorySection } from "./sections/directory.ts"
import { directoryRulesSection } from "./sections/directoryRules.ts"
import { errorsSection } from "./sections/errors.ts"
import { ingestionSection } from "./sections/ingestion.ts"
import { keysSection } from "./sections/keys.ts"
import { outagesSection } from "./sections/outages.ts"
import { stoppingSection } from "./sections/stopping.ts"
import { systemSection } from "./sections/system.ts"
import { talkOutageSection } from "./sections/talk.ts"
import { telcoOutageSection } from "./sections/telcoOutage.ts"
import { tracesSection } from "./sections/traces.ts"
import { webhookOutagesSection } from "./sections/webhookOutages.ts"
import { webhooksSection } from "./sections/webhooks.ts"

const platform = usePlatform()

directorySection(platform)
directoryRulesSection(platform)
keysSection(platform)
errorsSection(platform)
systemSection(platform)
clientSection(platform)
webhooksSection(platform)
tracesSection(platform)
ingestionSection(platform)
outagesSection(platform)
webhookOutagesSection(platform)
telcoOutageSection(platform)
talkOutageSection(platform)
stoppingSection(platform)
