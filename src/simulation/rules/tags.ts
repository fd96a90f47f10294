/** Lists the kinds of commands that a schema describes. Pure. */

/** A schema that a command's schema is made of, with its tag. */
export interface Member {
  readonly schema: object
  readonly tag: string | undefined
}

interface TagField {
  readonly literal?: unknown
  readonly schema?: TagField
}

const tagOf = (schema: object): string | undefined => {
  const { fields } = schema as { readonly fields?: Readonly<Record<string, TagField>> }
  for (let field = fields?._tag; field !== undefined; field = field.schema)
    if (typeof field.literal === "string") return field.literal
  return undefined
}

/** The members of a union, or the schema itself. */
export const membersOf = (schema: object): ReadonlyArray<Member> => {
  const { members } = schema as { readonly members?: ReadonlyArray<object> }
  return (members ?? [schema]).map((member) => ({ schema: member, tag: tagOf(member) }))
}

/** Their tags; undefined for one without. */
export const tagsOf = (schema: object): ReadonlyArray<string | undefined> => [
  ...new Set(membersOf(schema).map(({ tag }) => tag))
]
