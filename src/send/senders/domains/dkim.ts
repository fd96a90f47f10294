/** DKIM keys of domains: made here, the private part sealed before it is stored. Needs no service. */
import { generateKeyPair } from "node:crypto"
import { promisify } from "node:util"
import { Effect } from "effect"
import { dkimKeyBits } from "./limits.ts"

const generate = promisify(generateKeyPair)

export interface DkimKey {
  /** SubjectPublicKeyInfo in base64, as a DKIM record has it. */
  readonly publicKey: string
  /** PKCS #8 in PEM. */
  readonly privateKey: string
}

/** Makes a key, on a thread of Node's. */
export const makeDkimKey: Effect.Effect<DkimKey> = Effect.map(
  Effect.promise(() =>
    generate("rsa", {
      modulusLength: dkimKeyBits,
      publicKeyEncoding: { type: "spki", format: "der" },
      privateKeyEncoding: { type: "pkcs8", format: "pem" }
    })
  ),
  ({ privateKey, publicKey }) => ({ publicKey: publicKey.toString("base64"), privateKey })
)

/** Binds a sealed key to its domain: in another domain's row it does not open. */
export const aboutDkimKey = (domainId: string): string => `dkim key\n${domainId}`
