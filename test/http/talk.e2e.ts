/** Talk over HTTP in the running platform, as its users see it. */
import { usePlatform } from "./harness.ts"
import { malformedTalkSection } from "./sections/malformedTalk.ts"
import { talkSection } from "./sections/talk.ts"

const platform = usePlatform()

talkSection(platform)
malformedTalkSection(platform)
