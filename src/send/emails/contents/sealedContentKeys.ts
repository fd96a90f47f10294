/** Data keys as texts that were sealed. */
import { sealedTexts } from "../sealedTexts.ts"
import { aboutContentKey } from "./ContentKeys.ts"

export const sealedContentKeys = sealedTexts({
  table: "send_content_keys",
  id: "organization_id",
  text: "ciphertext",
  about: aboutContentKey
})
