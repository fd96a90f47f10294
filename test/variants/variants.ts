/** All broken variants, by area. */
import { access } from "./access.ts"
import { backups } from "./backups.ts"
import { directory } from "./directory.ts"
import { engine } from "./engine.ts"
import { engineCore } from "./engineCore.ts"
import { engineMessages } from "./engineMessages.ts"
import { engineNodes } from "./engineNodes.ts"
import { engineStreams } from "./engineStreams.ts"
import { engineWorkers } from "./engineWorkers.ts"
import { handoff } from "./handoff.ts"
import { limits } from "./limits.ts"
import { mailbox } from "./mailbox.ts"
import { mailTasks } from "./mailTasks.ts"
import { operators } from "./operators.ts"
import { others } from "./others.ts"
import { people } from "./people.ts"
import type { Variant } from "./runner/variant.ts"
import { send } from "./send.ts"
import { sendActors } from "./sendActors.ts"
import { simulations } from "./simulations.ts"
import { stores } from "./stores.ts"
import { submission } from "./submission.ts"
import { tasks } from "./tasks.ts"
import { webhooks } from "./webhooks.ts"
import { windows } from "./windows.ts"

export const variants: ReadonlyArray<Variant> = [
  ...engine,
  ...engineMessages,
  ...engineNodes,
  ...engineCore,
  ...engineStreams,
  ...engineWorkers,
  ...simulations,
  ...stores,
  ...tasks,
  ...webhooks,
  ...send,
  ...sendActors,
  ...handoff,
  ...limits,
  ...windows,
  ...mailTasks,
  ...mailbox,
  ...submission,
  ...access,
  ...people,
  ...backups,
  ...directory,
  ...operators,
  ...others
]

for (const [index, { name }] of variants.entries())
  if (variants.findIndex((other) => other.name === name) !== index) throw new Error(`two variants are called ${name}`)
