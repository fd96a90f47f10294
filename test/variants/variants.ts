/** All broken variants, by area. */
import { billing } from "./billing.ts"
import { consoleVariants } from "./console.ts"
import { core } from "./core.ts"
import { coreActors } from "./coreActors.ts"
import { coreIntake } from "./coreIntake.ts"
import { engine } from "./engine.ts"
import { journal } from "./journal.ts"
import { postgres } from "./postgres.ts"
import type { Variant } from "./runner/variant.ts"
import { send } from "./send.ts"
import { sendActors } from "./sendActors.ts"
import { sendApi } from "./sendApi.ts"
import { sendContent } from "./sendContent.ts"
import { sendFeedback } from "./sendFeedback.ts"
import { sendHandoff } from "./sendHandoff.ts"
import { sendMailer } from "./sendMailer.ts"
import { sendSenders } from "./sendSenders.ts"
import { talk } from "./talk.ts"
import { webhooks } from "./webhooks.ts"
import { webhooksFairness } from "./webhooksFairness.ts"
import { webhooksRates } from "./webhooksRates.ts"

export const variants: ReadonlyArray<Variant> = [
  ...engine,
  ...core,
  ...coreActors,
  ...coreIntake,
  ...journal,
  ...postgres,
  ...webhooks,
  ...webhooksFairness,
  ...webhooksRates,
  ...send,
  ...sendActors,
  ...sendApi,
  ...sendContent,
  ...sendFeedback,
  ...sendSenders,
  ...sendHandoff,
  ...sendMailer,
  ...billing,
  ...talk,
  ...consoleVariants
]

for (const [index, { name }] of variants.entries())
  if (variants.findIndex((other) => other.name === name) !== index) throw new Error(`two variants are called ${name}`)
