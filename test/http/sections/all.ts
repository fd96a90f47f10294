/** Every section of the platform's end-to-end tests, in their order; the last one stops it. */
import type { TestPlatform } from "../harness.ts"
import { clientSection } from "./client.ts"
import { directorySection } from "./directory.ts"
import { directoryRulesSection } from "./directoryRules.ts"
import { errorsSection } from "./errors.ts"
import { ingestionSection } from "./ingestion.ts"
import { keysSection } from "./keys.ts"
import { malformedSection } from "./malformed.ts"
import { malformedAdminSection } from "./malformedAdmin.ts"
import { malformedBillingSection } from "./malformedBilling.ts"
import { malformedSendSection } from "./malformedSend.ts"
import { malformedSendersSection } from "./malformedSenders.ts"
import { malformedWebhooksSection } from "./malformedWebhooks.ts"
import { outagesSection } from "./outages.ts"
import { stoppingSection } from "./stopping.ts"
import { systemSection } from "./system.ts"
import { webhookOutagesSection } from "./webhookOutages.ts"
import { webhooksSection } from "./webhooks.ts"

export const allSections = (platform: () => TestPlatform): void => {
  directorySection(platform)
  directoryRulesSection(platform)
  keysSection(platform)
  errorsSection(platform)
  systemSection(platform)
  clientSection(platform)
  webhooksSection(platform)
  malformedSection(platform)
  malformedAdminSection(platform)
  malformedWebhooksSection(platform)
  malformedSendSection(platform)
  malformedSendersSection(platform)
  malformedBillingSection(platform)
  ingestionSection(platform)
  outagesSection(platform)
  webhookOutagesSection(platform)
  stoppingSection(platform)
}
