/**
 * Events delivered by the whole platform to a real receiver, as both sides see it: docs/platform.md, 6 and 7. One
 * running platform, one section a topic.
 */
import { headersSection } from "./sections/headers.ts"
import { linesSection } from "./sections/lines.ts"
import { missedSection } from "./sections/missed.ts"
import { modesSection } from "./sections/modes.ts"
import { progressSection } from "./sections/progress.ts"
import { statesSection } from "./sections/states.ts"
import { useWhole } from "./whole.ts"

const whole = useWhole()

statesSection(whole)
linesSection(whole)
headersSection(whole)
missedSection(whole)
modesSection(whole)
progressSection(whole)
