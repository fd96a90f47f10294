/** Writes the event catalogue as text for the documentation, from the catalogue itself so that the two agree. Pure. */
import { Schema } from "effect"
import { catalogue } from "./catalogue.ts"

interface Description {
  readonly type?: string
  readonly description?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly anyOf?: ReadonlyArray<Description>
  readonly items?: Description
  readonly properties?: Readonly<Record<string, Description>>
  readonly allOf?: ReadonlyArray<Description>
}

const typeOf = (field: Description): string => {
  if (field.enum !== undefined) return field.enum.map((value) => `\`${value}\``).join(" or ")
  if (field.anyOf !== undefined) return field.anyOf.map(typeOf).join(" or ")
  if (field.type === "array") return `${typeOf(field.items ?? {})}[]`
  return field.type ?? "any"
}

/** The description of the field itself, or of the schema that checks it. */
const descriptionOf = (field: Description): string =>
  field.description ?? field.allOf?.map(({ description }) => description ?? "").find((text) => text !== "") ?? ""

const fieldsOf = (of: Description, prefix: string): ReadonlyArray<string> =>
  Object.entries(of.properties ?? {}).flatMap(([name, field]) => [
    `| \`${prefix}${name}\` | ${typeOf(field)} | ${descriptionOf(field)} |`,
    ...fieldsOf(field, `${prefix}${name}.`)
  ])

/** Markdown: a table of the fields and an example for each type. */
export const catalogueText = (): string => {
  const sections = Object.entries(catalogue).map(([type, { data, description, example, service }]) => {
    // One payload schema each, described by the library as JSON Schema.
    const { schema } = Schema.toJsonSchemaDocument(data as Schema.ConstraintCodec<unknown, unknown>)
    return [
      `### \`${type}\``,
      `${description}. Service \`${service}\`.`,
      ["| Field of `data` | Type | |", "|---|---|---|", ...fieldsOf(schema as Description, "")].join("\n"),
      `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``
    ].join("\n\n")
  })
  return ["## Event catalogue", ...sections].join("\n\n")
}
