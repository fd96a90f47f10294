/** Lists requests of the request log, and shows one, for an organization and for operators. */
import type { Answer } from "../api.ts"
import type { Paged } from "../usePages.ts"
import { Chip, Code, Command, Copy, Empty, Facts, Json, Link, Part, Time } from "./basics.tsx"
import { LinkedText } from "./linkedText.tsx"
import { PagedTable } from "./lists.tsx"
import { span } from "./time.ts"

export type LoggedRequest = Answer<"GET", "/v1/requests">["data"][number]
export type RequestDetail = Answer<"GET", "/v1/requests/:id">

const Status = ({ code, status }: Pick<LoggedRequest, "code" | "status">) => (
  <>
    <Chip state={status < 400 ? "succeeded" : "failed"} word={String(status)} />
    {code !== null && <span class="sub mono"> {code}</span>}
  </>
)

/** `placeOf` is the place of one's own view. */
export const RequestList = ({
  paged,
  placeOf,
  isFiltered
}: {
  readonly paged: Paged<LoggedRequest>
  readonly placeOf: (id: string) => string
  readonly isFiltered: boolean
}) => (
  <PagedTable
    paged={paged}
    caption="Requests of the last seven days"
    keyOf={({ id }) => id}
    empty={
      isFiltered ? (
        <Empty title="No such request" />
      ) : (
        <Empty title="No requests">
          <p class="note">Ask for something with a key, and it comes here within two seconds:</p>
          <Command text={`curl -H "Authorization: Bearer $KEY" ${location.origin}/v1/send/emails`} />
        </Empty>
      )
    }
    columns={[
      {
        head: "Request",
        isName: true,
        cell: ({ count, id, method, path }) => (
          <>
            <span class="mono type">
              <Link to={placeOf(id)}>
                {method} {path}
              </Link>
            </span>
            {count > 1 && <span class="sub">stands for {count.toLocaleString()}</span>}
          </>
        )
      },
      { head: "Status", cell: Status },
      { head: "Took", isFigure: true, cell: ({ durationMillis }) => span(durationMillis) },
      { head: "Key", cell: ({ keyId }) => <span class="mono">{keyId}</span> },
      { head: "When", cell: ({ at }) => <Time at={at} /> }
    ]}
  />
)

/** JSON in lines; a text that was cut stays as it is. */
const inLines = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

export const RequestParts = ({ request }: { readonly request: RequestDetail }) => (
  <>
    <Part title="Request">
      <Facts
        of={[
          ["Status", <Status code={request.code} status={request.status} />],
          [
            "Path",
            <span class="mono">
              {request.method} <LinkedText text={request.path} />
            </span>
          ],
          ["Endpoint", <span class="mono">{`${request.method} ${request.route}`}</span>],
          [
            "Key",
            <span class="mono">
              <LinkedText text={request.keyId} />
            </span>
          ],
          ["Mode", request.mode],
          ["From", <span class="mono">{request.address ?? "–"}</span>],
          [
            "X-Request-Id",
            <>
              <span class="mono">{request.requestId}</span> <Copy text={request.requestId} what="X-Request-Id" />
            </>
          ],
          ["Answered", <Time at={request.at} />],
          ["Took", span(request.durationMillis)],
          request.count > 1 && ["Stands for", `${request.count.toLocaleString()} requests of its second`]
        ]}
      />
    </Part>
    {request.status >= 400 && (
      <>
        <Part title="Its body">
          {request.requestBody === null ? (
            <p class="note">It had none, or was refused before it was read.</p>
          ) : (
            <>
              <p class="note">Its shape. Contents, addresses and secrets are not kept.</p>
              <Code text={inLines(request.requestBody)} label="Body of the request" isLinked />
            </>
          )}
        </Part>
        <Part title="Answer">
          {request.answerBody === null ? (
            <p class="note">It had no body.</p>
          ) : (
            <Code text={inLines(request.answerBody)} label="Body of the answer" isLinked />
          )}
        </Part>
      </>
    )}
    {request.facts !== null && (
      <Part title="What the rules decided by">
        <Json value={request.facts} label="Figures of the decision" />
      </Part>
    )}
  </>
)
