/**
 * Events delivered by the whole platform to a real receiver, as both sides see it: the table of states of the document, and the lines of the
 * decisions. One running platform, one section a topic.
 */
import { linesSection } from "./sections/lines.ts"
import { missedSection } from "./sections/missed.ts"
import { modesSection } from "./sections/modes.ts"
import { progressSection } from "./sections/progress.ts"
import { statesSection } from "./sections/states.ts"
import { useWhole } from "./whole.ts"

const whole = useWhole()

statesSection(whole)
linesSection(whole)
missedSection(whole)
modesSection(whole)
progressSection(whole)
