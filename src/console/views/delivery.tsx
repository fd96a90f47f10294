/** Shows one delivery: its request, its signature and the answers. */
import { type Answer, get, post } from "../api.ts"
import { hasScope } from "../session.ts"
import { Chip, Code, Copy, Facts, Fault, Head, Link, Loading, Part, Tabs, Time } from "../ui/basics.tsx"
import { Act } from "../ui/dialog.tsx"
import { EventLink } from "../ui/eventLink.tsx"
import { Table } from "../ui/lists.tsx"
import { span } from "../ui/time.ts"
import { useLoad, usePolling } from "../usePages.ts"

type Shown = Answer<"GET", "/v1/webhooks/:id/deliveries/:deliveryId">

const answerOf = ({ error, status }: Shown["attempts"][number]): string =>
  status === 0 ? (error ?? "no answer") : `HTTP ${status}${error === null ? "" : `: ${error}`}`

const isGood = (status: number): boolean => status >= 200 && status < 300

const Attempts = ({ attempts }: { readonly attempts: Shown["attempts"] }) =>
  attempts.length === 0 ? (
    <p class="note">It was not attempted yet.</p>
  ) : (
    <Table
      caption="Attempts"
      items={attempts.map((one, at) => ({ ...one, number: at + 1 })).toReversed()}
      keyOf={({ at }) => String(at)}
      columns={[
        { head: "Attempt", isFigure: true, cell: ({ number }) => number },
        { head: "When", cell: ({ at }) => <Time at={at} /> },
        {
          head: "Answer",
          isName: true,
          cell: (one) => <Chip state={isGood(one.status) ? "succeeded" : "failed"} word={answerOf(one)} />
        },
        { head: "Took", isFigure: true, cell: ({ duration }) => span(duration) },
        {
          head: "Body",
          cell: ({ number, response }) =>
            response === null || response === "" ? (
              <span class="none">empty</span>
            ) : (
              <details>
                <summary>{response.length} characters</summary>
                <Code text={response} label={`Answer of attempt ${number}`} />
              </details>
            )
        }
      ]}
    />
  )

const checkOf = ({ body, headers }: Answer<"GET", "/v1/webhooks/:id/deliveries/:deliveryId/request">): string => {
  const timestamp = headers.find(({ name }) => name === "X-PlatformWebhook-Timestamp")?.value ?? ""
  const quoted = body.replaceAll("'", "'\\''")
  return `printf '%s' '${timestamp}.${quoted}' | openssl dgst -sha256 -hmac "$SIGNING_SECRET"`
}

const Request = ({ id, deliveryId }: { readonly id: string; readonly deliveryId: string }) => {
  const { data, error, reload } = useLoad(
    () => get("/v1/webhooks/:id/deliveries/:deliveryId/request", { params: { id, deliveryId } }),
    [id, deliveryId]
  )
  if (error !== undefined) return <Fault error={error} retry={reload} />
  if (data === undefined) return <Loading />
  const head = [
    `${data.method} ${data.url}`,
    ...data.headers.map(({ name, value }) => `${name}: ${value ?? "(yours, not shown)"}`)
  ].join("\n")
  return (
    <>
      <p class="note">
        As the attempt of <Time at={data.at} /> sent it, with the secrets of today.
      </p>
      <Tabs
        label="The request"
        tabs={[
          ["Headers", () => <Code text={head} label="Request line and headers" />],
          ["Body", () => <Code text={data.body} label="Body, byte for byte" />],
          [
            "Signature",
            () => (
              <>
                <p>
                  The signature is the HMAC-SHA256 of this text, keyed with the whole signing secret, as hexadecimal
                  digits:
                </p>
                <Code text={data.signedText} label="Signed text" />
                <p>Make it yourself and compare it with what stands behind v1= in the header:</p>
                <Code text={checkOf(data)} label="Command that makes the signature" />
              </>
            )
          ]
        ]}
      />
    </>
  )
}

export const Delivery = ({ params }: { readonly params: Readonly<Record<string, string>> }) => {
  const id = params.id ?? ""
  const deliveryId = params.delivery ?? ""
  const { data, error, reload } = useLoad(
    () => get("/v1/webhooks/:id/deliveries/:deliveryId", { params: { id, deliveryId } }),
    [id, deliveryId]
  )
  const endpoint = useLoad(() => get("/v1/webhooks/:id", { params: { id } }), [id])
  usePolling(data?.status === "pending" ? 2_000 : 30_000, reload)
  return (
    <>
      <Head
        title={data?.eventType ?? "Delivery"}
        note={
          <>
            {data !== undefined && <Chip state={data.status} />} <span class="mono">{deliveryId}</span>{" "}
            <Copy text={deliveryId} what="id" />
          </>
        }
        trail={[`/endpoints/${id}`, "Endpoint"]}
        actions={
          data !== undefined &&
          data.status !== "pending" &&
          hasScope("platform:webhooks:manage") && (
            <Act
              word="Send again"
              kind="primary"
              act={async () => {
                await post("/v1/webhooks/:id/deliveries/:deliveryId/retry", { params: { id, deliveryId } })
                reload()
              }}
            />
          )
        }
      />
      {error !== undefined && <Fault error={error} retry={reload} />}
      {data === undefined ? (
        error === undefined && <Loading />
      ) : (
        <>
          <Part title="Delivery">
            <Facts
              of={[
                ["Event", <EventLink id={data.eventId}>{data.eventId}</EventLink>],
                ["Endpoint", <Link to={`/endpoints/${id}`}>{endpoint.data?.url ?? id}</Link>],
                ["Cause", data.replayId === null ? data.origin : `replay ${data.replayId}`],
                ["Attempts", `${data.attemptCount} of 6`],
                ["Created", <Time at={data.createdAt} />],
                ["Next attempt", <Time at={data.nextAttemptAt} />],
                ["Over", <Time at={data.settledAt} />]
              ]}
            />
          </Part>
          <Part title="Attempts and answers">
            <Attempts attempts={data.attempts} />
          </Part>
          <Part title="Request">
            <Request key={data.attempts.length} id={id} deliveryId={deliveryId} />
          </Part>
        </>
      )}
    </>
  )
}
