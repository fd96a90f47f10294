/** The pages of docs/reference, from the code that they describe. `npm run reference` writes them. */
import { commandsPage } from "./commandsPage.ts"
import { limitsPage } from "./limitsPage.ts"
import { errorsPage, eventsPage, settingsPage } from "./tablesPage.ts"

/** By file name. */
export const referencePages = async (): Promise<Readonly<Record<string, string>>> => ({
  "settings.md": settingsPage(),
  "commands.md": await commandsPage(),
  "events.md": eventsPage(),
  "errors.md": errorsPage(),
  "limits.md": limitsPage()
})
