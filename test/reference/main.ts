/** `npm run reference`: writes docs/reference. */
import { mkdirSync, writeFileSync } from "node:fs"
import { referencePages } from "./pages.ts"

const folder = new URL("../../docs/reference/", import.meta.url)
mkdirSync(folder, { recursive: true })
for (const [name, text] of Object.entries(await referencePages())) writeFileSync(new URL(name, folder), text)
