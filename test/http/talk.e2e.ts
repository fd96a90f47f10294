/** Talk over HTTP in the running platform, as its users see it. */
import { useSharedPlatform } from "../support/sharedPlatform.ts"
import { talkSection } from "./sections/talk.ts"

talkSection(useSharedPlatform())
