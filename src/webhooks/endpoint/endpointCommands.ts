/**
 * Sends owners' commands to the actors of endpoints. A command with a secret stores the secret before the actor gets
 * its id, and removes it again if the actor refuses. Needs the engine and `WebhookSecrets`, which are arguments.
 */
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import { randomText } from "../../common/identifiers.ts"
import type { Engine } from "../../engine/Engine.ts"
import { type AskError, isRetryable } from "../../engine/errors.ts"
import type { Owner } from "../../platform/model.ts"
import type { SecretsUnavailable } from "../secret/errors.ts"
import { publicKeyOf, secretOf } from "../secret/keyPair.ts"
import type { WebhookSecrets } from "../secret/WebhookSecrets.ts"
import type { TargetPolicy } from "../target/targets.ts"
import type { Ordering } from "./deliveryOrder.ts"
import {
  areSameHeaders,
  type CustomHeaders,
  decodeHeaders,
  encodeHeaders,
  type HeaderChanges,
  headerChangesProblem,
  headersProblem,
  mergedHeaders
} from "./headers.ts"
import {
  type Endpoint,
  type EndpointCommand,
  EndpointHeadersChanged,
  EndpointNotFound,
  type EndpointRejection,
  type EndpointReply
} from "./model.ts"
import { WebhookEndpoint } from "./rules.ts"

export const secretIdPrefix = "wsk_"

export const newSecretId = (): string => `${secretIdPrefix}${randomText()}`

/** Retries of a change of headers after a concurrent one. */
const mergeRetries = 4

export interface NewEndpoint {
  readonly url: string
  readonly enabledEvents: ReadonlyArray<string>
  readonly description: string | null
  /** Sent with each delivery; default: none. */
  readonly headers?: CustomHeaders | undefined
  /** Attempts per second; default: no limit. */
  readonly rateLimit?: number | null | undefined
  /** The order of its deliveries; default: none. */
  readonly ordering?: Ordering | null | undefined
  /** The name of the customer to whom it belongs; default: none. */
  readonly label?: string | null | undefined
  /** Whether its deliveries are signed with a private key too; default: false. */
  readonly asymmetric?: boolean | undefined
}

/** The random ids of a new endpoint and its secrets; `headersId` is for its headers, if it has any. */
export interface NewIds {
  readonly endpointId: string
  readonly secretId: string
  readonly headersId: string
}

export interface EndpointChanges {
  readonly url?: string | undefined
  readonly enabledEvents?: ReadonlyArray<string> | undefined
  readonly description?: string | null | undefined
  readonly isActive?: boolean | undefined
  /** Merged into the endpoint's; null removes all. */
  readonly headers?: HeaderChanges | null | undefined
  readonly rateLimit?: number | null | undefined
  readonly ordering?: Ordering | null | undefined
  readonly label?: string | null | undefined
}

export type EndpointError = EndpointRejection | AskError | SecretsUnavailable | SqlError.SqlError

/** The commands that an owner may send to an endpoint. */
type OwnersCommand = Exclude<EndpointCommand, { readonly _tag: `Record${string}` }>

/** Keeps only the given fields, because the rule distinguishes absent from undefined. */
const given = <Fields extends object>(fields: Fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    readonly [K in keyof Fields]?: Exclude<Fields[K], undefined>
  }

/** The ways to ask an endpoint's actor. */
export const makeEndpointCommands = (engine: Engine["Service"]) => {
  const ask = ({ label, livemode, organizationId }: Owner, key: string, command: OwnersCommand) =>
    engine.ask(
      WebhookEndpoint,
      { organization: organizationId, key },
      { ...command, livemode, ...(label === undefined ? {} : { onlyLabel: label }) }
    )

  /** Asks a command and returns the endpoint after it; fails when there is none. */
  const endpointAfter = (owner: Owner, key: string, command: OwnersCommand) =>
    Effect.flatMap(ask(owner, key, command), (reply) =>
      reply.endpoint === null
        ? Effect.fail(new EndpointNotFound({ endpointId: key }))
        : Effect.succeed({ ...reply, endpoint: reply.endpoint })
    )

  return { ask, endpointAfter }
}

export type EndpointCommands = ReturnType<typeof makeEndpointCommands>

/** Removes the secrets of a command again when it is refused for good. An endpoint that exists may name them. */
const forgettingRefused = <A>(
  secrets: WebhookSecrets["Service"],
  ids: ReadonlyArray<string>,
  asked: Effect.Effect<A, EndpointError>
) =>
  Effect.tapError(asked, (error) =>
    isRetryable(error, { isIdempotent: true }) || error._tag === "EndpointExists"
      ? Effect.void
      : Effect.ignore(secrets.forget(ids))
  )

/** Stores a signing secret and asks the command that names it. */
export const makeWithSecret = (secrets: WebhookSecrets["Service"], { endpointAfter }: EndpointCommands) =>
  Effect.fnUntraced(function* (
    owner: Owner,
    endpointId: string,
    secretId: string,
    asymmetric: boolean,
    command: OwnersCommand
  ) {
    const { organizationId } = owner
    const text = yield* secrets.create({ id: secretId, organizationId, endpointId }, asymmetric)
    const { endpoint } = yield* forgettingRefused(secrets, [secretId], endpointAfter(owner, endpointId, command))
    return { endpoint, signingSecret: secretOf(text), publicKey: publicKeyOf(text) }
  })

/** Stores headers and asks the command that names them, made by `use`. */
const makeWithHeaders = (secrets: WebhookSecrets["Service"]) =>
  Effect.fnUntraced(function* <A>(
    { organizationId }: Owner,
    endpointId: string,
    headersId: string,
    headers: CustomHeaders,
    use: (sealed: Endpoint["headers"]) => Effect.Effect<A, EndpointError>
  ) {
    const names = Object.keys(headers)
    if (names.length === 0) return yield* use(null)
    yield* secrets.put({ id: headersId, organizationId, endpointId }, encodeHeaders(headers))
    return yield* forgettingRefused(secrets, [headersId], use({ secretId: headersId, names }))
  })

/** Makes an endpoint. */
export const makeCreate = (secrets: WebhookSecrets["Service"], asking: EndpointCommands, targets: TargetPolicy) => {
  const withHeaders = makeWithHeaders(secrets)
  const withSecret = makeWithSecret(secrets, asking)
  return (owner: Owner, { endpointId, headersId, secretId }: NewIds, endpoint: NewEndpoint) => {
    const { asymmetric = false, description, enabledEvents, headers = {}, label, ordering, rateLimit, url } = endpoint
    return withHeaders(owner, endpointId, headersId, headers, (sealed) =>
      withSecret(owner, endpointId, secretId, asymmetric, {
        _tag: "Create",
        url,
        enabledEvents,
        description,
        ...(sealed === null ? {} : { headers: sealed }),
        ...(typeof rateLimit === "number" ? { rateLimit } : {}),
        ...(ordering === null || ordering === undefined ? {} : { ordering }),
        ...(label === null || label === undefined ? {} : { label }),
        secretId,
        targets
      })
    )
  }
}

type Merging = Effect.Effect<EndpointReply & { readonly endpoint: Endpoint }, EndpointError>

/**
 * Changes an endpoint. A change of headers is based on the endpoint's own, so it is made again if they were changed
 * concurrently.
 */
export const makeUpdate = (
  secrets: WebhookSecrets["Service"],
  { endpointAfter }: EndpointCommands,
  targets: TargetPolicy
) => {
  const withHeaders = makeWithHeaders(secrets)

  const apply = (owner: Owner, endpointId: string, command: Partial<Extract<OwnersCommand, { _tag: "Update" }>>) =>
    endpointAfter(owner, endpointId, { ...command, _tag: "Update", targets })

  const headersOf = Effect.fnUntraced(function* ({ headers }: Endpoint, endpointId: string) {
    if (headers === null) return {}
    const text = (yield* secrets.open([headers.secretId])).get(headers.secretId)
    // Another change has replaced it since its id was read, or no configured key opens it, which is logged.
    if (text === undefined) return yield* new EndpointHeadersChanged({ endpointId })
    return decodeHeaders(text)
  })

  const merge = Effect.fnUntraced(function* (owner: Owner, endpointId: string, changes: EndpointChanges) {
    const { headers: wanted, ...others } = changes
    const { endpoint } = yield* endpointAfter(owner, endpointId, { _tag: "Get" })
    const before = yield* headersOf(endpoint, endpointId)
    const headers = mergedHeaders(before, wanted ?? {})
    const problem = headersProblem(headers)
    if (problem !== undefined) return yield* problem
    if (areSameHeaders(before, headers)) return yield* apply(owner, endpointId, given(others))
    return yield* withHeaders(owner, endpointId, newSecretId(), headers, (sealed) =>
      apply(owner, endpointId, {
        ...given(others),
        headers: sealed,
        headersBefore: endpoint.headers?.secretId ?? null
      })
    )
  })

  const merging = (owner: Owner, endpointId: string, changes: EndpointChanges, retries: number): Merging =>
    Effect.catchTag(merge(owner, endpointId, changes), "EndpointHeadersChanged", (error) =>
      retries > 0 ? merging(owner, endpointId, changes, retries - 1) : Effect.fail(error)
    )

  return Effect.fnUntraced(function* (owner: Owner, endpointId: string, changes: EndpointChanges) {
    const { headers, ...others } = changes
    if (headers === undefined) return yield* apply(owner, endpointId, given(others))
    if (headers === null) return yield* apply(owner, endpointId, { ...given(others), headers })
    const problem = headerChangesProblem(headers)
    if (problem !== undefined) return yield* problem
    return yield* merging(owner, endpointId, changes, mergeRetries)
  })
}
