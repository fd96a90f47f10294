/**
 * Holds the records of answered requests until they are written: those of the present second as samples of each
 * organization, the earlier ones in a queue. Both together have a bound in bytes; a record beyond it is dropped, and
 * reported. Needs no service.
 */
import type { AnsweredRequest, RequestRecorder } from "../../http/RequestRecorder.ts"
import type { Caller } from "../../http/RequestState.ts"
import { RequestSample } from "./RequestSample.ts"
import { makeRecordId } from "./recordId.ts"
import { codeOf, redactedAnswer, redactedBody, shownPath, shownRoute, withoutIds } from "./redaction.ts"

/** A request as the log keeps it. */
export interface RequestRecord {
  readonly organizationId: string
  readonly mode: "live" | "test"
  /** Unix milliseconds. */
  readonly at: number
  readonly keyId: string
  readonly method: string
  /** With ids, without other parameters and without the query. */
  readonly path: string
  /** The endpoint's path, with `{name}` for each parameter. */
  readonly route: string
  readonly status: number
  readonly code: string | null
  readonly durationMillis: number
  readonly requestId: string
  readonly address: string | null
  readonly requestBody: string | null
  readonly answerBody: string | null
  /** The things that deciding a refused send again needs. */
  readonly facts: object | null
}

/** A record that waits for its writing. */
export interface WaitingRecord extends RequestRecord {
  /** `rq_…`. It is made once, so that a repeated statement writes nothing twice. */
  readonly id: string
  /** How many requests it stands for. */
  readonly count: number
}

export interface RequestBufferOptions {
  /** Successes of an organization that are kept in a second; beyond it they are sampled. */
  readonly successesPerSecond: number
  /** The same for failures. */
  readonly failuresPerSecond: number
  /** From 0 to 1, 1 excluded. */
  readonly random: () => number
  /** The keyed digest of a text of an organization. */
  readonly digest: (organizationId: string, text: string) => string
  /** Called for each record that finds no room. */
  readonly onDropped: () => void
  /** Most memory for records, in bytes. */
  readonly maximumBytes?: number
}

/** Most memory for records. */
const defaultMaximumBytes = 8 * 1024 * 1024

/** Estimated memory of a record beside its bodies, in bytes. */
const overheadBytes = 1_024

/** The samples of one organization in the present second. */
interface Samples {
  readonly successes: RequestSample<RequestRecord>
  readonly failures: RequestSample<RequestRecord>
}

const sizeOf = ({ answerBody, facts, requestBody }: RequestRecord): number =>
  overheadBytes +
  2 * ((answerBody?.length ?? 0) + (requestBody?.length ?? 0)) +
  (facts === null ? 0 : JSON.stringify(facts).length)

export class RequestBuffer implements RequestRecorder {
  private readonly options: RequestBufferOptions
  private readonly maximumBytes: number
  private present = new Map<string, Samples>()
  private waiting: Array<WaitingRecord> = []
  private bytes = 0

  constructor(options: RequestBufferOptions) {
    this.options = options
    this.maximumBytes = options.maximumBytes ?? defaultMaximumBytes
  }

  counted(caller: Caller, status: number): ((request: AnsweredRequest) => void) | undefined {
    const samples = this.present.get(caller.organizationId) ?? this.begin(caller.organizationId)
    const sample = status < 400 ? samples.successes : samples.failures
    const place = sample.place()
    return place === undefined ? undefined : (request) => this.keep(sample, place, this.recordOf(caller, request))
  }

  /** Ends the present second: its records wait for their writing. */
  turn(): void {
    for (const { failures, successes } of this.present.values())
      for (const sample of [successes, failures])
        for (const { count, item } of sample.sampled()) this.waiting.push({ ...item, id: makeRecordId(item.at), count })
    this.present = new Map()
  }

  /** The records that wait longest. They stay until `remove`. */
  oldest(most: number): ReadonlyArray<WaitingRecord> {
    return this.waiting.slice(0, most)
  }

  /** Removes as many of the oldest. */
  remove(records: number): void {
    for (const record of this.waiting.slice(0, records)) this.bytes -= sizeOf(record)
    this.waiting = this.waiting.slice(records)
  }

  private begin(organizationId: string): Samples {
    const { failuresPerSecond, random, successesPerSecond } = this.options
    const samples: Samples = {
      successes: new RequestSample(successesPerSecond, random),
      failures: new RequestSample(failuresPerSecond, random)
    }
    this.present.set(organizationId, samples)
    return samples
  }

  private keep(sample: RequestSample<RequestRecord>, place: number, record: RequestRecord): void {
    const size = sizeOf(record)
    if (this.bytes + size > this.maximumBytes) {
      this.options.onDropped()
      return
    }
    this.bytes += size
    const before = sample.put(place, record)
    if (before !== undefined) this.bytes -= sizeOf(before)
  }

  private recordOf({ keyId, mode, organizationId }: Caller, request: AnsweredRequest): RequestRecord {
    const { address, answer, at, body, facts, method, requestId, route, seconds, status, url } = request
    const isFailed = status >= 400
    const path = shownPath(route, url)
    return {
      organizationId,
      mode,
      at,
      keyId,
      method,
      path,
      route: route === undefined ? withoutIds(path) : shownRoute(route),
      status,
      code: answer === undefined ? null : codeOf(answer),
      durationMillis: Math.round(seconds * 1_000),
      requestId,
      address: address ?? null,
      requestBody: isFailed && body !== undefined && body.byteLength > 0 ? redactedBody(body) : null,
      answerBody: answer === undefined ? null : redactedAnswer(answer),
      facts: facts === undefined ? null : facts((text) => this.options.digest(organizationId, text))
    }
  }
}
