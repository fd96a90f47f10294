/** Shows a schema as a list of fields, nested ones to be opened. */
import { type ApiDescription, type ApiSchema, resolved } from "./description.ts"
import { Markdown } from "./markdown.tsx"

/** Fields within fields that are shown; deeper ones are the reader's example. */
const maximumDepth = 5

const isNull = ({ type }: ApiSchema): boolean => type === "null"

/** The word for a schema's type. */
const typeOf = (api: ApiDescription, given: ApiSchema): string => {
  const schema = resolved(api, given)
  const any = schema.anyOf ?? schema.oneOf
  if (any !== undefined) return [...new Set(any.map((one) => typeOf(api, one)))].join(" or ")
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map((one) => JSON.stringify(one)).join(" or ")
  if (schema.type === "array") return schema.items ? `list of ${typeOf(api, schema.items)}` : "list"
  return typeof schema.type === "string" ? schema.type : (schema.type?.join(" or ") ?? "any")
}

const boundsOf = ({ maximum, maxItems, maxLength, minimum, minLength }: ApiSchema): string =>
  [
    minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER && `at least ${minimum}`,
    maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER && `at most ${maximum}`,
    minLength !== undefined && `at least ${minLength} characters`,
    maxLength !== undefined && `at most ${maxLength} characters`,
    maxItems !== undefined && `at most ${maxItems} items`
  ]
    .filter((part) => part)
    .join(", ")

/** The object or objects inside a schema, behind lists and alternatives. */
const objectsIn = (api: ApiDescription, given: ApiSchema): ReadonlyArray<ApiSchema> => {
  const schema = resolved(api, given)
  if (schema.properties !== undefined) return [schema]
  if (schema.items) return objectsIn(api, schema.items)
  return [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]
    .filter((one) => !isNull(one))
    .flatMap((one) => objectsIn(api, one))
}

export const SchemaView = ({
  api,
  schema,
  depth = 0
}: {
  readonly api: ApiDescription
  readonly schema: ApiSchema
  readonly depth?: number
}) => {
  const objects = objectsIn(api, schema)
  if (objects.length === 0)
    return (
      <p class="note">
        <code>{typeOf(api, schema)}</code>
      </p>
    )
  return (
    <>
      {objects.map((object, number) => (
        <ul key={number} class="fields">
          {number > 0 && <li class="note">or</li>}
          {Object.entries(object.properties ?? {}).map(([name, given]) => {
            const field = resolved(api, given)
            const isDeep = depth < maximumDepth && objectsIn(api, field).length > 0
            const bounds = boundsOf(field)
            return (
              <li key={name}>
                <code class="name">{name}</code> <span class="note">{typeOf(api, field)}</span>
                {object.required?.includes(name) && <span class="required"> required</span>}
                {bounds !== "" && <span class="note">, {bounds}</span>}
                {field.description !== undefined && <Markdown text={field.description} />}
                {isDeep && (
                  <details class="more">
                    <summary>
                      Fields of <code>{name}</code>
                    </summary>
                    <SchemaView api={api} schema={field} depth={depth + 1} />
                  </details>
                )}
              </li>
            )
          })}
        </ul>
      ))}
    </>
  )
}
