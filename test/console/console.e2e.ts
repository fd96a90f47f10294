/**
 * The console in a real browser (docs/platform.md, 12): signing in and out, every view in both themes and by keyboard alone, what others wrote, two organizations, and how it looks on a
 * phone. One platform for all of it. Pictures of every view are written to the folder that `SLUICE_PICTURES` names.
 */
import { describe } from "vitest"
import { needing } from "../support/needs.ts"
import { useConsolePlatform } from "./consolePlatform.ts"
import { apiSection } from "./sections/api.ts"
import { docsSection } from "./sections/docs.ts"
import { keyboardSection } from "./sections/keyboard.ts"
import { linksSection } from "./sections/links.ts"
import { operatorSection } from "./sections/operator.ts"
import { operatorListsSection } from "./sections/operatorLists.ts"
import { peopleSection } from "./sections/people.ts"
import { plansSection } from "./sections/plans.ts"
import { portalSection } from "./sections/portal.ts"
import { servedSection } from "./sections/served.ts"
import { signingInSection } from "./sections/signingIn.ts"
import { strangersSection } from "./sections/strangers.ts"
import { viewsSection } from "./sections/views.ts"

const needs = needing("chromium")
const platform = useConsolePlatform(needs.skip !== true)

describe("the console", needs, () => {
  signingInSection(platform)
  viewsSection(platform)
  apiSection(platform)
  keyboardSection(platform)
  linksSection(platform)
  strangersSection(platform)
  portalSection(platform)
  peopleSection(platform)
  plansSection(platform)
  docsSection(platform)
  servedSection(platform)
  operatorSection(platform)
  operatorListsSection(platform)
})
