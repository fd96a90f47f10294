/**
 * Decides where webhooks may be delivered (docs/platform.md, 6.9): the rules of the URL, and the check of the address
 * at the moment of connecting. The sender connects to exactly the checked address, so a name that changes its answer in
 * between gains nothing. A sender calls `open` before it attempts a URL, connects with `lookup`, and must not follow
 * redirects.
 */
import { isIP, type LookupFunction } from "node:net"
import { Effect, Result, Schema } from "effect"
import { isLoopbackAddress, type Resolve, type ResolvedAddress, refusedAddressClass } from "./addresses.ts"
import { makeNames, type NameNotFound, type TargetNames } from "./TargetNames.ts"

export type { Resolve, ResolvedAddress } from "./addresses.ts"

/**
 * `public`: https to public addresses. `any` (`SLUICE_WEBHOOK_TARGETS=any`): https to every address, and http to
 * loopback hosts, for development.
 * See {@link makeTargetGuard}.
 */
export const targetPolicies = ["public", "any"] as const
/** The allowed targets of deliveries: `public` is https to public addresses. See {@link makeTargetGuard}. */
export type TargetPolicy = (typeof targetPolicies)[number]

/** The longest URL of an endpoint, in characters. */
export const maximumUrlLength = 2048

/**
 * Ports that no webhook listens on and that other protocols would misunderstand: the "bad ports" of the Fetch
 * standard.
 */
const refusedPorts: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080
])

/**
 * A URL that no endpoint may have. The message is for the caller (docs/platform.md, 6.3). Terminal. See
 * {@link makeTargetGuard}.
 */
export class UrlRefused extends Schema.TaggedError<UrlRefused>()("UrlRefused", {
  reason: Schema.Literals(["missing", "not_https", "malformed", "too_long", "credentials", "port", "address"]),
  message: Schema.String
}) {}

/** An attempt that was refused before connecting. `address` is for the operator: it may reveal an internal network. See {@link makeTargetGuard}. */
export class TargetRefused extends Schema.TaggedError<TargetRefused>()("TargetRefused", {
  /** Like `code` of the errors of `node:net`, for callers that check it. */
  code: Schema.tag("ERR_WEBHOOK_TARGET_REFUSED"),
  host: Schema.String,
  address: Schema.String,
  /** For the owner of the endpoint. */
  message: Schema.String
}) {}

const refuse = (reason: UrlRefused["reason"], message: string): Result.Result<never, UrlRefused> =>
  Result.fail(new UrlRefused({ reason, message }))

/** The host of a URL as names and addresses are written: without brackets and without the dot of the root. */
const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "")

const isLoopbackHost = (host: string): boolean =>
  host === "localhost" || host.endsWith(".localhost") || isLoopbackAddress(host)

/**
 * The rules of an endpoint's URL. It uses no name server; whether a name is public is decided at connect time. An IPv4
 * host in any spelling (`0x7f.1`, `2130706433`) becomes the four numbers.
 */
export const checkUrl = (given: unknown, policy: TargetPolicy): Result.Result<URL, UrlRefused> => {
  if (given === undefined || given === null || given === "") return refuse("missing", "url is required")
  if (typeof given !== "string") return refuse("malformed", "url must be a text")
  if (given.length > maximumUrlLength) return refuse("too_long", `url is longer than ${maximumUrlLength} characters`)
  // The parser accepts blanks, backslashes and missing slashes, where other readers of the text may see another host.
  const scheme = /^(https?):\/\//i.exec(given)?.[1]?.toLowerCase()
  if (scheme === undefined) return refuse("not_https", "Webhook URL must use HTTPS")
  if (/[^\u0021-\u007e\u00a1-\uffff]|\\|^\w+:\/{3}/.test(given))
    return refuse("malformed", "url has a character that no URL has")
  const url = URL.canParse(given) ? new URL(given) : undefined
  const host = url === undefined ? "" : hostOf(url)
  const isAllowedScheme = scheme === "https" || (policy === "any" && isLoopbackHost(host))
  if (!isAllowedScheme) return refuse("not_https", "Webhook URL must use HTTPS")
  if (url === undefined || host === "") return refuse("malformed", "url is not a URL")
  if (url.username !== "" || url.password !== "")
    return refuse("credentials", "url must not contain a user name or password")
  if (url.port !== "" && refusedPorts.has(Number(url.port)))
    return refuse("port", `url has port ${url.port}, on which no webhook can listen`)
  return Result.succeed(url)
}

/** The functions that a delivery needs to connect safely. See {@link makeTargetGuard}. */
export interface TargetGuard {
  /**
   * Checks a URL before an attempt: the rules of the URL and, if its host is an address, whether that is public.
   * `lookup` cannot do the latter, because `node:net` does not look addresses up. The same URL always gets the same
   * answer, which may be remembered.
   */
  readonly open: (url: string) => Result.Result<URL, UrlRefused | TargetRefused>
  /**
   * Looks the host of such a URL up before a connection is opened, counted against an organization, so that `lookup`
   * finds it known and its name servers delay no other organization. Does nothing for an address.
   */
  readonly prepare: (url: URL, organizationId: string) => Effect.Effect<void, NameNotFound>
  /**
   * For the `lookup` option of `node:net`, `node:tls`, `node:https` and of HTTP clients built on them. A name with one
   * answer that is not public is refused as a whole. Gives exactly the checked addresses; fails with `TargetRefused` or
   * with the resolver's error.
   */
  readonly lookup: LookupFunction
}

/**
 * The message for an unknown name and for one that leads inside alike, so that callers cannot learn which names exist
 * inside.
 */
export const noPublicAddress = "The host name has no public address"

const refuseTarget = (host: string, address: string): TargetRefused =>
  new TargetRefused({
    host,
    address,
    message: isIP(host) === 0 ? noPublicAddress : `${host} is not a public address, nothing is delivered there`
  })

const isRefusedBy = (policy: TargetPolicy, address: string): boolean => {
  const refused = refusedAddressClass(address)
  return refused !== undefined && (policy === "public" || refused === "invalid")
}

/**
 * Why an endpoint may not have a URL whose host is an address; undefined when it may. A name's addresses are checked
 * when connecting.
 */
export const refusedAddress = (url: URL, policy: TargetPolicy): UrlRefused | undefined => {
  const host = hostOf(url)
  return isIP(host) !== 0 && isRefusedBy(policy, host)
    ? new UrlRefused({ reason: "address", message: `url has the address ${host}, which is not public` })
    : undefined
}

const notFound = (host: string): NodeJS.ErrnoException =>
  Object.assign(new Error(`${host} has no address`), { code: "ENOTFOUND" })

/** The resolver of names: by organization, or any `Resolve`, which all share. */
const namesOf = (names: TargetNames | Resolve): TargetNames =>
  typeof names === "function" ? { find: () => Effect.succeed([]), resolve: names } : names

/**
 * Makes the guard of a policy. `names` says which addresses a host has; by default the name servers of the system do.
 *
 * @example
 * ```ts
 * import { Result } from "effect"
 * import { makeTargetGuard } from "sluice/webhook/dispatcher"
 *
 * const guard = makeTargetGuard("public")
 * console.log(Result.isSuccess(guard.open("https://127.0.0.1/hook"))) // false
 * console.log(Result.isSuccess(guard.open("https://shop.example/hook"))) // true
 * ```
 */
export const makeTargetGuard = (policy: TargetPolicy, names: TargetNames | Resolve = makeNames()): TargetGuard => {
  const { find, resolve } = namesOf(names)
  const isRefused = (address: string): boolean => isRefusedBy(policy, address)

  const addressesOf = async (host: string): Promise<ReadonlyArray<ResolvedAddress>> => {
    const answers = (await resolve(host)).map(({ address }) => ({ address, family: isIP(address) }))
    const bad = answers.find(({ address }) => isRefused(address))
    if (bad !== undefined) throw refuseTarget(host, bad.address)
    return answers
  }

  return {
    open: (text) =>
      Result.flatMap(checkUrl(text, policy), (url): Result.Result<URL, TargetRefused> => {
        const host = hostOf(url)
        return isIP(host) !== 0 && isRefused(host) ? Result.fail(refuseTarget(host, host)) : Result.succeed(url)
      }),
    prepare: (url, organizationId) => {
      const host = hostOf(url)
      return isIP(host) === 0 ? Effect.asVoid(find(host, organizationId)) : Effect.void
    },
    lookup: (host, options, callback) => {
      const family = options.family === "IPv4" ? 4 : options.family === "IPv6" ? 6 : (options.family ?? 0)
      addressesOf(host).then(
        (answers) => {
          const usable = answers.filter((answer) => family === 0 || answer.family === family)
          const first = usable[0]
          if (first === undefined) callback(notFound(host), [])
          else if (options.all === true) callback(null, [...usable])
          else callback(null, first.address, first.family)
        },
        (error: NodeJS.ErrnoException) => callback(error, [])
      )
    }
  }
}
