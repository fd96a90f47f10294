/** Completes the API's description, which is derived from its definitions, for people, linters and client generators. */
import { webhooksDocument } from "../webhooks/http/webhooksDocument.ts"
import { renamed } from "./componentNames.ts"
import { describeExamples } from "./describeExamples.ts"
import { describeSecurity } from "./describeSecurity.ts"

/** The platform that serves the description; clients of a file name the address of theirs. */
const servers = [{ url: "/", description: "The platform that serves this description" }]

/** The whole description of the public API. */
export const publicDescription = (spec: Record<string, unknown>): Record<string, unknown> => {
  const { components, ...described } = describeExamples(renamed(describeSecurity(spec))) as {
    readonly components: Readonly<Record<string, object>>
  }
  const { parameters, schemas, webhooks } = webhooksDocument()
  return {
    ...described,
    servers,
    components: { ...components, schemas: { ...components.schemas, ...schemas }, parameters },
    webhooks
  }
}
