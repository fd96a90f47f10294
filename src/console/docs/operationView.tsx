/** Shows one operation: what it does, its parameters, body and answers, samples, and a way to try it. */
import { useState } from "preact/hooks"
import { Code, Command, Part, Select, Tabs } from "../ui/basics.tsx"
import type { AnswerPart, ApiDescription, BodyPart, Operation } from "./description.ts"
import { Markdown } from "./markdown.tsx"
import { exampleOf, pathOf, samplesOf } from "./samples.ts"
import { SchemaView } from "./schemaView.tsx"
import { TryIt } from "./tryIt.tsx"

const jsonOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2))

const Parameters = ({
  operation,
  values,
  onChange
}: {
  readonly operation: Operation
  readonly values: Readonly<Record<string, string>>
  readonly onChange: (key: string, value: string) => void
}) => (
  <Part title="Parameters">
    <ul class="fields">
      {operation.parameters.map(({ description, in: place, name, required, schema }) => (
        <li key={`${place} ${name}`}>
          <code class="name">{name}</code> <span class="note">in the {place}</span>
          {required && <span class="required"> required</span>}
          {(description ?? schema?.description) !== undefined && (
            <Markdown text={(description ?? schema?.description)!} />
          )}
          {operation.kind === "request" && (place === "path" || place === "query") && (
            <input
              type="text"
              aria-label={`Value of ${name}`}
              autocomplete="off"
              spellcheck={false}
              value={values[`${place} ${name}`] ?? ""}
              onInput={(event) => onChange(`${place} ${name}`, event.currentTarget.value)}
            />
          )}
        </li>
      ))}
    </ul>
  </Part>
)

const Body = ({
  api,
  part,
  text,
  isEditable,
  onChange
}: {
  readonly api: ApiDescription
  readonly part: BodyPart
  readonly text: string
  readonly isEditable: boolean
  readonly onChange: (text: string) => void
}) => (
  <Part title={`Body, ${part.mediaType}`}>
    {part.examples.length > 1 && (
      <Select
        label="Example"
        value={part.examples.find(([, value]) => jsonOf(value) === text)?.[0] ?? ""}
        options={part.examples.map(([name]) => [name, name.replaceAll("_", " ")])}
        onChange={(name) => onChange(jsonOf(part.examples.find(([one]) => one === name)?.[1]))}
      />
    )}
    {isEditable ? (
      <textarea
        class="mono body"
        aria-label="Body of the request"
        spellcheck={false}
        rows={Math.min(18, text.split("\n").length + 1)}
        value={text}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    ) : (
      <Code text={text} label="Example" />
    )}
    {part.schema !== undefined && <SchemaView api={api} schema={part.schema} />}
  </Part>
)

const isError = ({ status }: AnswerPart): boolean => Number(status) >= 400

const Answer = ({ answer, api }: { readonly answer: AnswerPart; readonly api: ApiDescription }) => (
  <>
    {answer.examples.slice(0, 1).map(([name, value]) => (
      <Code key={name} text={jsonOf(value)} label={`Example of ${answer.status}`} />
    ))}
    {answer.schema === undefined ? (
      <p class="note">{answer.mediaType === "" ? "Without a body." : answer.mediaType}</p>
    ) : (
      <SchemaView api={api} schema={answer.schema} />
    )}
  </>
)

const Errors = ({ errors }: { readonly errors: ReadonlyArray<AnswerPart> }) => (
  <Part title="Errors">
    <div class="table">
      <table>
        <caption class="hidden">Errors</caption>
        <thead>
          <tr>
            <th scope="col">Status</th>
            <th scope="col">When</th>
            <th scope="col">Body</th>
          </tr>
        </thead>
        <tbody>
          {errors.map((answer) => (
            <tr key={answer.status}>
              <th scope="row">{answer.status}</th>
              <td data-head="When">
                <Markdown text={answer.description.split(" | ").join("; ")} />
              </td>
              <td data-head="Body">
                <span class="mono">
                  {answer.examples.map(([name, value]) => (
                    <div key={name}>{JSON.stringify(value)}</div>
                  ))}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </Part>
)

export const OperationView = ({ api, operation }: { readonly api: ApiDescription; readonly operation: Operation }) => {
  const [values, setValues] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(
      operation.parameters
        .filter(({ in: place }) => place === "path")
        .map((one) => [`${one.in} ${one.name}`, exampleOf(one)])
    )
  )
  const [body, setBody] = useState(() => jsonOf(operation.body?.examples[0]?.[1] ?? ""))
  const path = pathOf(operation, values)
  const isRequest = operation.kind === "request"
  const samples = samplesOf(operation, { base: location.origin, path, body })
  const successes = operation.answers.filter((answer) => !isError(answer))
  const errors = operation.answers.filter(isError)
  return (
    <>
      {operation.description !== "" && <Markdown text={operation.description} />}
      <div class="api-columns">
        <div>
          {operation.parameters.length > 0 && (
            <Parameters
              operation={operation}
              values={values}
              onChange={(key, value) => setValues((before) => ({ ...before, [key]: value }))}
            />
          )}
          {operation.body !== undefined && (
            <Body api={api} part={operation.body} text={body} isEditable={isRequest} onChange={setBody} />
          )}
        </div>
        {isRequest && (
          <div>
            <Part title="Request">
              <Tabs
                label="Language"
                tabs={samples.map(([language, text]) => [language, () => <Command text={text} />])}
              />
            </Part>
            <Part title="Try it">
              <TryIt operation={operation} path={path} body={body} />
            </Part>
          </div>
        )}
      </div>
      {isRequest &&
        successes.map((answer) => (
          <Part key={answer.status} title={`Answer ${answer.status}`}>
            <Answer answer={answer} api={api} />
          </Part>
        ))}
      {isRequest && errors.length > 0 && <Errors errors={errors} />}
    </>
  )
}
