/**
 * The sections of the platform's end-to-end tests, in their order; the last one stops it. Those of endpoints that the fast lane never answers run
 * where the general path does.
 */
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

const sections = (platform: () => TestPlatform, generalPath: () => void): void => {
  directorySection(platform)
  directoryRulesSection(platform)
  keysSection(platform)
  errorsSection(platform)
  systemSection(platform)
  clientSection(platform)
  webhooksSection(platform)
  malformedSection(platform)
  malformedWebhooksSection(platform)
  malformedSendSection(platform)
  generalPath()
  ingestionSection(platform)
  outagesSection(platform)
  webhookOutagesSection(platform)
  stoppingSection(platform)
}

/** All of them. */
export const allSections = (platform: () => TestPlatform): void =>
  sections(platform, () => {
    malformedAdminSection(platform)
    malformedSendersSection(platform)
    malformedBillingSection(platform)
  })

/** Those whose requests the fast lane takes part in. */
export const fastLaneSections = (platform: () => TestPlatform): void => sections(platform, () => {})
