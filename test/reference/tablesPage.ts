/** The pages of settings, events and errors. */
import { settingExamples, settingGroups } from "../../src/config/settingGroups.ts"
import { settings } from "../../src/config/settings.ts"
import { catalogue } from "../../src/events/catalogue.ts"
import { errorTable } from "../../src/http/errorTable.ts"
import { code, page, table } from "./markdown.ts"

const byName = new Map(Object.values(settings).map((setting) => [setting.env as string, setting]))

export const settingsPage = (): string =>
  page(
    "Settings",
    `Every setting is an environment variable, and a flag of \`sluice serve\` unless it is a secret: everybody on the
machine can see a command line. A secret may be in a file, which a variable with \`_FILE\` behind its name names:
\`SLUICE_ADMIN_KEY_FILE=/run/secrets/admin\`. \`sluice config\` prints the values in force. [operating.md](../operating.md) explains
how they work together.`,
    ...Object.entries(settingGroups).map(([title, names]) => {
      const rows = names.map((name) => {
        const { description, expected, fallback, flag, secret } = byName.get(name)!
        return [
          code(name),
          secret ? "secret" : code(`--${flag}`),
          `${description}. Takes ${expected}.`,
          fallback === undefined ? "" : code(fallback),
          code(settingExamples[name] ?? fallback!)
        ]
      })
      return `## ${title}\n\n${table(["Variable", "Flag", "Meaning", "Default", "Example"], rows)}`
    })
  )

export const eventsPage = (): string => {
  const types = Object.entries(catalogue)
  const services = [...new Set(types.map(([, { service }]) => service))]
  const overview = table(
    ["Type", "When"],
    types.map(([type, { description }]) => [`[${code(type)}](#${type.replaceAll(/[^a-z_-]/g, "")})`, description])
  )
  const of = (service: string) =>
    types
      .filter(([, entry]) => entry.service === service)
      .map(
        ([type, { description, example }]) =>
          `### ${type}\n\n${description}.\n\n\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``
      )
      .join("\n\n")
  return page(
    "Events",
    `Every type of the catalogue with an example of its \`data\`. [platform/events.md](../platform/events.md) has the
envelope, the log and its streams, [platform/webhooks.md](../platform/webhooks.md) deliveries. \`sluice trigger <type>\`
emits an example.`,
    overview,
    ...services.map((service) => `## ${service}\n\n${of(service)}`)
  )
}

export const errorsPage = (): string =>
  page(
    "Errors",
    `The codes are one enumeration for all products. The shape of the body is the product's
([platform.md](../platform.md), 1.5): \`{"error": code, "message"}\` under the directory, telco and webhooks,
\`{"error": sentence}\` under talk, \`{"error": {"code", "message"}}\` under send, and
\`{"success": false, "error": {"code", "message"}}\` elsewhere. Only 429 and 503 are worth a repeat, after
\`Retry-After\` seconds; a repeat of a POST with the same \`Idempotency-Key\` is carried out once.`,
    table(
      ["Code", "Status", "Meaning"],
      Object.entries(errorTable).map(([name, { description, status }]) => [code(name), `${status}`, description])
    )
  )
