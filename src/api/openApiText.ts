/** Writes the API's description to `openapi.json`, which is committed; a test fails when it is stale. */
import { writeFileSync } from "node:fs"
import { OpenApi } from "effect/http-api"
import { SluiceApi } from "./SluiceApi.ts"

/** The text of `openapi.json`. */
export const openApiText = (): string => `${JSON.stringify(OpenApi.fromApi(SluiceApi), null, 2)}\n`

if (import.meta.main) writeFileSync(new URL("../../openapi.json", import.meta.url), openApiText())
