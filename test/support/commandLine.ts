/** What `commands.ts` loads of the bundled program, with the Effect that is bundled there: modules of one copy only know each other. */
import "effect/schema/SchemaJITCompiler/enable"

export { Console, Effect } from "effect"
export { commandLine, exitCodeOf } from "../../src/cli/commandLine.ts"
export { Environment } from "../../src/cli/environment.ts"
