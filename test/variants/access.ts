/** Variants of access by key and of the edge of HTTP. */
import type { Variant } from "./runner/variant.ts"

export const access: ReadonlyArray<Variant> = [
  {
    name: "edge: names of fields may be any text",
    find: "if (!isStorable(key)) return nameOf(at)",
    replace: "",
    sentence: "a name with U+0000 reaches the database, which refuses its row and those beside it",
    finders: ["storableText.unit"]
  },
  {
    name: "edge: escapes of a query may be any bytes",
    find: '.split("&") .find((pair) => !isEscapedText(pair))',
    replace: '.split("&").find(() => false)',
    sentence: "a parameter with U+0000 reaches the database",
    finders: ["storableText.unit"]
  },
  {
    name: "edge: a read may take as long as it likes",
    find: "Effect.sync(() => fiber.interruptUnsafe(undefined, ReadTooLate.annotation))",
    replace: "Effect.void",
    sentence: "while PostgreSQL hangs a look-up waits for half a minute",
    finders: ["readDeadline.unit"]
  },
  {
    name: "keys: whoever manages keys ends any of them",
    find: "yield* allowed(principal, yield* apiKeys.get(principal.organizationId, principal.mode, id))",
    replace: "yield* apiKeys.get(principal.organizationId, principal.mode, id)",
    sentence: "a key for reports revokes the key of all scopes",
    finders: ["ownKeys.it"]
  },
  {
    name: "access: a revoked key goes on where it is warm",
    find: 'notification._tag === "Message" ? keys.forget(notification.payload) : keys.doubtAll()',
    replace: 'notification._tag === "Message" ? undefined : keys.doubtAll()',
    sentence: "a key that was revoked goes on until the process ends",
    finders: ["Authentication.it"]
  },
  {
    name: "access: what was read before a revocation is remembered",
    find: "if (keys.announcements === before) keys.remember",
    replace: "keys.remember",
    sentence: "a key that is revoked while it is looked up goes on until the process ends",
    finders: ["Authentication.it"]
  },
  {
    name: "access: a key goes on after its end while it is warm",
    find: "if (principal.expiresAtMillis !== null && principal.expiresAtMillis <= nowMillis) return null",
    replace: "",
    sentence: "a key that has expired goes on for whoever uses it often",
    finders: ["Authentication.it"]
  },
  {
    name: "access: what cannot be announced is not looked up",
    find: "return age <= deafLifeMillis || (hearing.isAway && known.isActiveKey && age <= graceMillis)",
    replace: "return true",
    sentence: "while announcements are away a revoked key goes on without end",
    finders: ["Authentication.it", "WarmKeys.unit"]
  },
  {
    name: "access: the grace counts while PostgreSQL answers",
    find: "(hearing.isAway && known.isActiveKey && age <= graceMillis)",
    replace: "(known.isActiveKey && age <= graceMillis)",
    sentence: "a revoked key goes on for minutes where only the channel of revocations is down",
    finders: ["Authentication.it", "WarmKeys.unit"]
  },
  {
    name: "access: a text that is no key stays none for the grace",
    find: "hearing.isAway && known.isActiveKey && age",
    replace: "hearing.isAway && age",
    sentence: "a key that was made while PostgreSQL was away for this node is refused for minutes",
    finders: ["WarmKeys.unit"]
  },
  {
    name: "access: what was missed is not looked up again",
    find: "entry.isCurrent = false",
    replace: "",
    sentence: "a key that was revoked while announcements were away goes on",
    finders: ["Authentication.it"]
  },
  {
    name: "access: a new key stays unknown to who has asked for it before",
    find: "this.heard++ this.known.delete(digest) this.unknown.delete(digest)",
    replace: "this.heard++\nthis.known.delete(digest)",
    sentence: "a key that was tried before it was made is refused",
    finders: ["Authentication.it"]
  },
  {
    name: "access: any service will do",
    find: "if (service !== undefined && !principal.services.has(service))",
    replace: "if (service !== undefined && principal.services.size === 0)",
    sentence: "a key for look-ups sends email",
    finders: ["http/contract.it"]
  },
  {
    name: "access: one right opens all of its product",
    find: 'granted.has(`${required.slice(0, required.indexOf(":"))}:*`)',
    replace: '[...granted].some((one) => one.startsWith(required.slice(0, required.indexOf(":"))))',
    sentence: "a key that reads invoices makes keys",
    finders: ["http/contract.it"]
  },
  {
    name: "access: the fast lane checks no rights",
    find: "return principal == null || refusalOf(principal) !== undefined ? undefined : principal",
    replace: "return principal ?? undefined",
    sentence: "a key without the scope acts wherever the fast lane serves",
    finders: ["fastLane.it"]
  },
  {
    name: "access: a portal asks whatever a key may",
    find: "if (principal.session?.portal !== undefined && !isOpenToPortals) return refusals.forbidden(portalMessage)",
    replace: "",
    sentence: "a customer of an organization makes links to the portals of the others",
    finders: ["portalHttp.it"]
  },
  {
    name: "access: a portal knows endpoints of other labels",
    find: '|| ("onlyLabel" in command && command.onlyLabel !== state.label)',
    replace: "",
    sentence: "a customer of an organization reads and deletes the endpoints of the others",
    finders: ["labelRules.unit", "portalHttp.it"]
  },
  {
    name: "access: a portal's handler acts for its whole organization",
    find: "...(session?.portal === undefined ? {} : { label: session.portal.label })",
    replace: "",
    sentence: "a customer of an organization sees all of its endpoints",
    finders: ["portalHttp.it"]
  },
  {
    name: "access: the link of a portal opens it twice",
    find: "delete from portal_links l using organizations o, api_keys k",
    replace: "update portal_links l set label = l.label from organizations o, api_keys k",
    sentence: "who finds a link in a browser's history signs in with it",
    finders: ["portalHttp.it"]
  },
  {
    name: "access: the link of a portal outlives its key",
    find: "and k.id = l.parent_id and k.active and (k.expires_at is null or k.expires_at > ${new Date(now)})",
    replace: "and k.id = l.parent_id",
    sentence: "who has stolen a key goes on through the links that it made before its end",
    finders: ["portalHttp.it"]
  },
  {
    name: "access: a portal's repeat is that of anybody",
    find: "label === undefined ? request : { ...request, key: `portal\\n${label}\\n${request.key}` }",
    replace: "request",
    sentence: "a customer who guesses an Idempotency-Key gets the secret of another one",
    finders: ["portalHttp.it"]
  },
  {
    name: "access: a portal subscribes to everything",
    find: "const [beyond] = patternsBeyond(session.portal.types, enabledEvents)",
    replace: 'const [beyond] = patternsBeyond(["*"], enabledEvents)',
    sentence: "a customer receives the events about the organization and about all other customers",
    finders: ["portal.unit", "portalHttp.it"]
  },
  {
    name: "access: an address asks for public keys as often as it likes",
    find: "return decision.allowed ? Effect.void : Effect.fail(EnvelopeRateLimited.of(overLimit(decision)))",
    replace: "return Effect.void",
    sentence: "anybody keeps the platform busy without a key",
    finders: ["publicKeysHttp.it"]
  },
  {
    name: "access: who may not is not counted",
    find: "return counted(fiber, principal, take(principal))",
    replace:
      "return refusalOf(principal) !== undefined ? enter(fiber, principal) : counted(fiber, principal, take(principal))",
    sentence: "a key without rights asks without limit",
    finders: ["requestRate.e2e"]
  },
  {
    name: "access: what people look at in the console is usage",
    find: "if (principal.session !== undefined) return",
    replace: "",
    sentence: "an open console is a bill",
    finders: ["usage.it"]
  },
  {
    name: "access: a repeated key in the query is the first one",
    find: 'typeof parameter === "string" ? asKey(parameter) : undefined',
    replace: 'asKey(typeof parameter === "string" ? parameter : parameter[0]!)',
    sentence: "who adds a second key to an address decides nothing, and is not told",
    finders: ["access.unit"]
  },
  {
    name: "access: each key has a rate of its own",
    find: "take: ({ organizationId: organization, plan, session }) => session === undefined ? take({ organization }, { cost: 1, plan })",
    replace:
      "take: ({ organizationId: organization, keyId, plan, session }) => session === undefined ? take({ organization, key: keyId }, { cost: 1, plan })",
    sentence: "who makes a hundred keys asks a hundred times as much",
    finders: ["requestRate.e2e"]
  },
  {
    name: "audit: a repeated request is another act",
    find: 'if (response.status >= 400 || response.headers["idempotency-replayed"] !== undefined) return Effect.void',
    replace: "if (response.status >= 400) return Effect.void",
    sentence: "the audit log names a key twice that was made once",
    finders: ["audit.it"]
  },
  {
    name: "audit: a refused type of body is an act",
    find: 'if (response.status >= 400 || response.headers["idempotency-replayed"] !== undefined) return Effect.void',
    replace: 'if (response.headers["idempotency-replayed"] !== undefined) return Effect.void',
    sentence: "the audit log names a key that was never made",
    finders: ["audit.it"]
  },
  {
    name: "audit: modes see each other's acts",
    find: "...(mode === undefined ? [] : [sql`(mode = ${mode} or mode is null)`]),",
    replace: "",
    sentence: "a test key reads who changed what in live mode",
    finders: ["audit.it"]
  },
  {
    name: "audit: an act that cannot be kept fails",
    find: "Effect.catchCause((cause) => Effect.andThen( Metric.update(lost, 1),",
    replace: "Effect.tapCause((cause) => Effect.andThen( Metric.update(lost, 1),",
    sentence: "a key is made and its maker is told that it was not",
    finders: ["audit.it"]
  },
  {
    name: "shedding: what is in work is never too much",
    find: "return isBehind({ all: this.total, own, organizations }, this.pace.at(now), of)",
    replace: "return this.total < 0 && isBehind({ all: this.total, own, organizations }, this.pace.at(now), of)",
    sentence: "a busy platform keeps requests for seconds and gigabytes in place of refusing them",
    finders: ["loadShedder.unit"]
  },
  {
    name: "shedding: a process that waits for its database is busy",
    find: "if (busy < busyFrom || all < turnFloor) return false",
    replace: "if (all < turnFloor) return false",
    sentence: "while PostgreSQL hangs requests are refused that memory answers",
    finders: ["loadShedder.unit"]
  },
  {
    name: "shedding: all pay for the one that floods",
    find: "own > all / organizations || waitOf((own + 1) * organizations) > everyone",
    replace: "own >= 0",
    sentence: "an organization within its share is refused because of another one",
    finders: ["loadShedder.unit"]
  },
  {
    name: "shedding: what one organization holds open is everybody's wait",
    find: "waitOf((own + 1) * organizations) > everyone",
    replace: "waitOf(all) > everyone",
    sentence: "an organization that sends bodies slowly has all others refused",
    finders: ["loadShedder.unit"]
  },
  {
    name: "shedding: one stall counts as too much to do",
    find: "busy: Math.min(this.last.busy, this.beforeLast.busy)",
    replace: "busy: this.last.busy",
    sentence: "a machine that stood still for half a second refuses requests",
    finders: ["loadShedder.unit"]
  },
  {
    name: "shedding: an answered request stays in work",
    find: "state.admitted = undefined\n    const own",
    replace: "if (organization !== undefined) return\n    const own",
    sentence: "the platform refuses requests because of others that it has answered",
    finders: ["loadShedder.unit"]
  },
  {
    name: "http: what is over the limit passes where the fast lane serves",
    find: "if (decision.allowed) this.passed()\n    else",
    replace: "this.passed()\n    if (decision === undefined)",
    sentence: "a request over its limit acts all the same",
    finders: ["fastLane.it"]
  },
  {
    name: "http: a fault of the program is not logged where the fast lane serves",
    find: "if (status < 500) return\n",
    replace: "return\n",
    sentence: "operators do not learn of a request that failed",
    finders: ["fastLaneFailures.unit"]
  },
  {
    name: "http: the fast lane forgets the wait of a 503",
    find: "if (status < 400) return this.state.responseHeaders",
    replace: "if (status < 600) return this.state.responseHeaders",
    sentence: "clients of a service that is away come back immediately, all of them",
    finders: ["databaseAway.it", "fastLane.it"]
  },
  {
    name: "http: the fast lane ignores unknown parameters",
    find: "for (const name in found.searchParams) if (!queryNames.has(name)) return undefined",
    replace: "",
    sentence: "a misspelt filter is left out silently",
    finders: ["fast.unit"]
  },
  {
    name: "http: an unauthorized request is not told how to give a key",
    find: "if (status === 401) return challenged(state.responseHeaders)",
    replace: "",
    sentence: "clients that wait to be asked never give their key",
    finders: ["fastLane.it"]
  },
  {
    name: "http: a 503 does not say when to repeat the request",
    find: "return status === 503 ? patient(growth, nowNanos, state, retryAfter) : state.responseHeaders",
    replace: "return state.responseHeaders",
    sentence: "clients of a database that is away come back immediately, all of them",
    finders: ["databaseAway.it"]
  },
  {
    name: "http: a full page promises another one",
    find: "const hasMore = rows.length > limit",
    replace: "const hasMore = rows.length >= limit",
    sentence: "who follows the list gets an empty page at its end",
    finders: ["access.unit"]
  },
  {
    name: "http: a cursor is good for each list",
    find: "update(`${list}\\n${payload}`)",
    replace: "update(`\\n${payload}`)",
    sentence: "a cursor of one organization's list opens a place in another list",
    finders: ["access.unit"]
  },
  {
    name: "http: any text is a request id",
    find: 'typeof given === "string" && requestIdPattern.test(given) ? given',
    replace: 'typeof given === "string" ? given',
    sentence: "a caller writes what it likes into the log",
    finders: ["fast.unit"]
  },
  {
    name: "http: a dead request's key is taken by another body",
    find: "or (w.answer is null and w.busy_until <= ${now} and w.digest = excluded.digest)",
    replace: "or (w.answer is null and w.busy_until <= ${now})",
    sentence:
      "the repeat of a request that crashed acts for another body, and the ids of the first one are used for the second",
    finders: ["IdempotentRequests.it"]
  }
]
