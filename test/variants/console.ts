/** Variants of the console's sessions and of what it asks. */
import type { Finder, Variant } from "./runner/variant.ts"

const cookie: Finder = { kind: "unit", files: ["test/platform/consoleCookie.unit.ts"] }
const operators: Finder = { kind: "unit", files: ["test/admin/operatorSessions.unit.ts"] }

export const consoleVariants: ReadonlyArray<Variant> = [
  {
    name: "console: a cookie counts without its header",
    file: "src/platform/consoleCookie.ts",
    find: "if (headers[consoleHeader] === undefined) return undefined",
    replace: "",
    sentence: "a page of another site acts for who is signed in",
    finders: [cookie]
  },
  {
    name: "console: a session's text is a key",
    file: "src/platform/layerAccess.ts",
    find: '(text.startsWith(sessionPrefix) ? "" : text)',
    replace: "text",
    sentence: "what stands in a cookie opens the API from anywhere",
    finders: [cookie]
  },
  {
    name: "console: a cookie goes before a key",
    file: "src/platform/layerAccess.ts",
    find: "const authorization = headers.authorization",
    replace: "const authorization = givenSession(headers) === undefined ? headers.authorization : undefined",
    sentence: "a request with a key of its own acts as who is signed in",
    finders: [cookie]
  },
  {
    name: "console: an operator's session never ends",
    file: "src/admin/OperatorSessions.ts",
    find: "return end !== undefined && end > now ? end : undefined",
    replace: "return end",
    sentence: "a browser that was left open goes on as the operator",
    finders: [operators]
  },
  {
    name: "console: any word opens the operator's console",
    file: "src/admin/OperatorSessions.ts",
    find: "if (!isCredential(credential)) return undefined",
    replace: "",
    sentence: "everybody is the operator",
    finders: [operators]
  }
]
