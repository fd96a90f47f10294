/**
 * Gives the schemas of the API's description names for clients in other languages, and removes from them what only the
 * code knows. Pure.
 */

/** The beginning of an error's name, by the shape of its body (docs/platform.md, 1.5). */
const shapes: ReadonlyArray<readonly [ours: string, shown: string]> = [
  ["Nested", "Send"],
  ["Envelope", "Platform"],
  ["Sentence", "Talk"]
]

/** The name of a schema in the description: `SendForbiddenError` for the class `NestedForbidden`. */
export const componentName = (identifier: string): string => {
  const [, tag] = /^sluice_(\w+)Encoded$/.exec(identifier) ?? []
  if (tag === undefined) return identifier.replace(/Encoded$/, "Text")
  const name = tag.replace(/Error$/, "")
  const shape = shapes.find(([ours]) => name.startsWith(ours))
  return `${shape === undefined ? name : `${shape[1]}${name.slice(shape[0].length)}`}Error`
}

type Json = unknown

const prefix = "#/components/schemas/"

interface Schema {
  readonly [field: string]: Json
}

const isObject = (value: Json): value is Schema => typeof value === "object" && value !== null && !Array.isArray(value)

const textWithoutDescription = ({ description: _, ...rest }: Schema): string => JSON.stringify(rest)

/** `SendCap_1` differs from `SendCap` in its description alone: a reference may have one of its own. */
const copiesIn = (schemas: Readonly<Record<string, Schema>>): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(schemas).flatMap(([name, schema]) => {
      const original = name.replace(/_\d+$/, "")
      const first = original === name ? undefined : schemas[original]
      return first !== undefined && textWithoutDescription(first) === textWithoutDescription(schema)
        ? [[name, original] as const]
        : []
    })
  )

/** Rewrites every schema's name, and puts a schema in the place of a choice that has no other. */
export const renamed = (document: Schema): Schema => {
  const { components } = document as { readonly components: { readonly schemas: Readonly<Record<string, Schema>> } }
  const { schemas } = components
  const copies = copiesIn(schemas)
  const rewritten = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(rewritten)
    if (!isObject(value)) return value
    const { $ref, anyOf } = value
    if (typeof $ref === "string" && $ref.startsWith(prefix)) {
      const name = $ref.slice(prefix.length)
      const description = copies.has(name) ? schemas[name]?.description : undefined
      const own = description === undefined ? {} : { description }
      return { ...own, ...value, $ref: `${prefix}${componentName(copies.get(name) ?? name)}` }
    }
    const { anyOf: _, ...rest } = value
    const only = Array.isArray(anyOf) && anyOf.length === 1 ? { ...(anyOf[0] as Schema), ...rest } : value
    return Object.fromEntries(Object.entries(only).map(([name, one]) => [name, rewritten(one)]))
  }
  const kept = Object.entries(schemas).filter(([name]) => !copies.has(name))
  const named = kept.map(([name, schema]) => [componentName(name), rewritten(withoutTag(schema))] as const)
  const whole = rewritten({ ...document, components: { ...components, schemas: {} } }) as typeof document
  return { ...whole, components: { ...components, schemas: Object.fromEntries(named) } }
}

/** Errors have a tag in the code, which is not on the wire. */
const withoutTag = (schema: Schema): Schema => {
  const { properties } = schema
  if (!isObject(properties) || !("_tag" in properties)) return schema
  const { _tag, ...rest } = properties
  return { ...schema, properties: rest }
}
