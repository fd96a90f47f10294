/** Defines the settings of talk's speech service (docs/platform.md, 10.5), for the table in `settings.ts`. */
import { secret, setting, text } from "./kinds.ts"

/** Most voices of a speech service, and the longest name of one. */
const maximumVoices = 500
const voicePattern = /^[^\s,"'`\p{Cc}]{1,100}$/u

/** An address in front of others. A user or password in it would be shown. */
const serviceUrl = setting("an address such as http://host:8880/v1, without user, password and query", (value) => {
  const parsed = URL.parse(value)
  const isBare = parsed !== null && `${parsed.username}${parsed.password}${parsed.search}${parsed.hash}` === ""
  return isBare && /^https?:$/.test(parsed.protocol) && parsed.host !== "" ? value : undefined
})

const voices = setting(`1 to ${maximumVoices} names of voices, separated by commas`, (value) => {
  const names = value.split(",").map((name) => name.trim())
  const areGood = names.length <= maximumVoices && names.every((name) => voicePattern.test(name))
  return areGood && new Set(names).size === names.length ? names : undefined
})

const key = setting("a credential of printable characters without blanks", (value) =>
  /^[\x21-\x7e]+$/.test(value) ? value : undefined
)

export const talkSettings = {
  talkUrl: serviceUrl({
    env: "SLUICE_TALK_URL",
    description:
      "Address, before /audio/speech, of a speech service with OpenAI's interface; default: espeak-ng, where it is on the path"
  }),
  talkKey: secret(key({ env: "SLUICE_TALK_KEY", description: "Credential for the speech service, sent as a bearer" })),
  talkModel: text({
    env: "SLUICE_TALK_MODEL",
    fallback: "tts-1",
    description: "Model that the speech service is asked for"
  }),
  talkVoices: voices({
    env: "SLUICE_TALK_VOICES",
    fallback: "alloy,ash,coral,echo,fable,nova,onyx,sage,shimmer",
    description: "Voices of the speech service"
  })
} as const
