/**
 * Creates the stream of one partition's log: its settings (docs/architecture.md, rule 14), and the sentence for an
 * operator if an existing stream offers less. Needs `JetStreamApi`.
 */
import { Effect } from "effect"
import { JournalRefused, JournalUnavailable } from "../engine/ports/Journal.ts"
import {
  type ApiRefused,
  errorCodes,
  isTerminal,
  type JetStreamApi,
  type StreamConfig,
  type StreamInfo
} from "./jetStreamApi.ts"
import type { RequestFailed } from "./requests.ts"

/**
 * Bytes after which a new log takes no more frames: by default 4 GiB, less if the store has less room (`logSurvey.ts`).
 */
export const defaultMaximumBytes = 4 * 1024 * 1024 * 1024

/** The options of an operator, or a programmer. */
export interface SettingNames {
  readonly maximumBytes: string
  readonly partitions: string
}

export const platformNames: SettingNames = { maximumBytes: "SLUICE_LOG_MAX_BYTES", partitions: "SLUICE_PARTITIONS" }

export interface LogStreamOptions {
  /** Copies of each log: 1 on one machine (the default), 3 in a cluster. */
  readonly replicas?: 1 | 3 | 5 | undefined
  /**
   * The bound of one log in bytes; the server sets aside as much for each. Raising it takes effect at the next start;
   * without it logs stay as they are.
   */
  readonly maximumBytes?: number | undefined
  /** The bound of a log that has yet to be made, when `maximumBytes` is absent. */
  readonly newBytes?: number | undefined
  /** A stream that is not there is not made: frames of it were seen. */
  readonly mustExist?: boolean | undefined
  /**
   * How messages name the settings of `maximumBytes` and of the number of partitions; by default those of the platform.
   */
  readonly words?: SettingNames | undefined
  /**
   * Put before the names of streams (`<namespace>-log-0`) and subjects (`<namespace>.log.0`), for several deployments
   * on one account.
   */
  readonly namespace?: string | undefined
}

/** How often opening a log is tried before its partition hears that it cannot be opened now. */
const openAttempts = 3

export const streamNameOf = (partition: number, namespace: string | undefined): string =>
  namespace === undefined ? `log-${partition}` : `${namespace}-log-${partition}`

export const subjectOf = (partition: number, namespace: string | undefined): string =>
  namespace === undefined ? `log.${partition}` : `${namespace}.log.${partition}`

/** The server's minimum. Frames carry no message ids, so the window is never used. */
const duplicateWindowNanos = 100_000_000

const settingsOf = (partition: number, options: LogStreamOptions, deployment: string | undefined): StreamConfig => ({
  name: streamNameOf(partition, options.namespace),
  subjects: [subjectOf(partition, options.namespace)],
  description: `Log of partition ${partition}: the only truth, changed by nothing but Sluice`,
  retention: "limits",
  storage: "file",
  discard: "new",
  max_msgs: -1,
  max_msgs_per_subject: -1,
  max_bytes: options.maximumBytes ?? options.newBytes ?? defaultMaximumBytes,
  max_age: 0,
  max_msg_size: -1,
  max_consumers: -1,
  num_replicas: options.replicas ?? 1,
  duplicate_window: duplicateWindowNanos,
  deny_delete: true,
  deny_purge: false,
  allow_direct: false,
  ...(deployment === undefined ? {} : { metadata: { [deploymentEntry]: deployment } })
})

/** The entry of a stream's metadata that says which deployment it belongs to. */
const deploymentEntry = "sluice.deployment"

/** The id of the deployment that a stream belongs to; undefined for one from before there were ids. */
export const deploymentOf = ({ config }: StreamInfo): string | undefined => {
  const id = config.metadata?.[deploymentEntry]
  return id === "" ? undefined : id
}

/**
 * Finds the stream or makes it, and checks that it keeps what the engine promises. An existing stream of another
 * deployment is left as it is.
 */
export const openLogStream = Effect.fnUntraced(function* (
  api: JetStreamApi,
  partition: number,
  options: LogStreamOptions,
  deployment: string | undefined
): Effect.fn.Return<StreamInfo, JournalRefused | JournalUnavailable> {
  const wanted = settingsOf(partition, options, deployment)
  const isMissing = (error: RequestFailed | ApiRefused) =>
    error._tag === "ApiRefused" && error.errorCode === errorCodes.streamNotFound
  const found = yield* api.streamInfo(wanted.name).pipe(
    Effect.catchIf(
      (error) => isMissing(error) && options.mustExist !== true,
      () =>
        // Made by another process at the same time: look again.
        Effect.catchIf(
          api.createStream(wanted),
          (error) => error._tag === "ApiRefused" && error.errorCode === errorCodes.streamNameInUse,
          () => api.streamInfo(wanted.name)
        )
    ),
    Effect.mapError((error) =>
      isMissing(error)
        ? new JournalRefused({ message: missingLog(partition, wanted.name) })
        : openFailure(partition, wanted, error, options.words)
    ),
    // A cluster that elects a leader, or makes many streams, answers late; asking again is harmless.
    Effect.retry({ while: (error) => error._tag === "JournalUnavailable", times: openAttempts - 1 })
  )
  // The caller reports it, with both names.
  if (deployment !== undefined && deploymentOf(found) !== deployment) return found
  return yield* fitted(api, partition, options, wanted, found)
})

const missingLog = (partition: number, stream: string): string =>
  `partition ${partition}: this NATS has no stream ${stream}, of which the database has seen frames. None was made. Look whether it is the right server and namespace (NATS_URL, SLUICE_LOG_NAMESPACE), and bring the stream's storage back`

/**
 * Gives a stream without an id to the deployment. The server has no compare-and-set for this, so the result is read
 * back.
 */
export const adoptLogStream = Effect.fnUntraced(function* (
  api: JetStreamApi,
  partition: number,
  options: LogStreamOptions,
  deployment: string
): Effect.fn.Return<void, JournalRefused | JournalUnavailable> {
  const wanted = settingsOf(partition, options, deployment)
  const failed = (error: RequestFailed | ApiRefused) => openFailure(partition, wanted, error, options.words)
  const before = yield* Effect.mapError(api.streamInfo(wanted.name), failed)
  const owner = deploymentOf(before)
  if (owner === undefined) {
    const metadata = { ...before.config.metadata, [deploymentEntry]: deployment }
    yield* Effect.mapError(api.updateStream({ ...before.config, metadata }), failed)
  }
  const after = yield* Effect.mapError(api.streamInfo(wanted.name), failed)
  if (deploymentOf(after) !== deployment) {
    return yield* new JournalRefused({
      message: `the stream ${wanted.name}, the log of partition ${partition}, belongs to the deployment ${deploymentOf(after)}`
    })
  }
  yield* fitted(api, partition, options, wanted, after)
})

/** Refuses what is weaker than wanted, and gives a smaller stream the wanted room. */
const fitted = Effect.fnUntraced(function* (
  api: JetStreamApi,
  partition: number,
  options: LogStreamOptions,
  wanted: StreamConfig,
  found: StreamInfo
): Effect.fn.Return<StreamInfo, JournalRefused | JournalUnavailable> {
  const weakness = weaknessOf(found.config, wanted)
  if (weakness !== undefined) {
    return yield* new JournalRefused({
      message: `the stream ${wanted.name}, the log of partition ${partition}, ${weakness}`
    })
  }
  if (options.maximumBytes === undefined || found.config.max_bytes >= wanted.max_bytes) return found
  return yield* Effect.mapError(api.updateStream({ ...found.config, max_bytes: wanted.max_bytes }), (error) =>
    openFailure(partition, wanted, error)
  )
})

const edit = (name: string, flag: string): string => `change it with: nats stream edit ${name} ${flag}`

/**
 * The reason why a stream is unfit for a log, as the end of a sentence that says what to do; undefined if it is fit.
 */
export const weaknessOf = (found: StreamConfig, wanted: StreamConfig): string | undefined => {
  const { name } = wanted
  const onlyNew = "this cannot be changed on an existing stream, so move it away and restore the log from a backup"
  if (found.storage !== "file") return `keeps its frames in memory and would lose them with the server; ${onlyNew}`
  if (found.persist_mode === "async") {
    return `acknowledges frames before they are written (persist_mode async); ${onlyNew}`
  }
  if (found.mirror !== undefined || found.sources !== undefined) {
    return `copies another stream (mirror or sources), so its sequences are not its own; ${onlyNew}`
  }
  if (found.retention !== "limits") return `drops frames that consumers have read (${found.retention}); ${onlyNew}`
  if (found.sealed === true) return `is sealed and takes no frames; ${onlyNew}`
  if (found.no_ack === true) return `acknowledges nothing; ${edit(name, "--ack")}`
  if (found.max_age !== 0) {
    return `drops frames after ${found.max_age / 1e9} s; ${edit(name, "--max-age=-1")}`
  }
  if (found.max_msgs > 0 || found.max_msgs_per_subject > 0) {
    return `is limited to a number of frames; ${edit(name, "--max-msgs=-1 --max-msgs-per-subject=-1")}`
  }
  if (found.discard !== "new") return `drops old frames when it is full; ${edit(name, "--discard=new")}`
  if (found.max_bytes <= 0) {
    return `has no bound and could fill the disk; ${edit(name, `--max-bytes=${wanted.max_bytes}`)}`
  }
  if (!found.deny_delete) {
    return `allows single frames to be deleted; ${edit(name, "--deny-delete")}`
  }
  if (found.deny_purge) return `forbids purging, so it would grow until it is full; ${onlyNew}`
  if (found.allow_rollup_hdrs === true) {
    return `lets a message replace all frames (rollup); ${edit(name, "--no-allow-rollup")}`
  }
  if (found.allow_msg_ttl === true) {
    return `lets messages carry a time to live; ${onlyNew}`
  }
  if (found.allow_direct) {
    return `answers reads from any copy, also stale ones; ${edit(name, "--no-allow-direct")}`
  }
  if (found.subject_transform !== undefined) return `rewrites subjects; ${edit(name, "--no-transform")}`
  if (found.subjects.length !== 1 || found.subjects[0] !== wanted.subjects[0]) {
    return `listens to ${found.subjects.join(", ")} instead of ${wanted.subjects[0]}; ${edit(name, `--subjects=${wanted.subjects[0]}`)}`
  }
  if (found.max_msg_size > 0) {
    return `refuses frames of more than ${found.max_msg_size} bytes; ${edit(name, "--max-msg-size=-1")}`
  }
  if (found.num_replicas < wanted.num_replicas) {
    return `has ${found.num_replicas} copies instead of ${wanted.num_replicas}, so the loss of one server could lose acknowledged frames; raise it with \`sluice cluster replicate\`, or ${edit(name, `--replicas=${wanted.num_replicas}`)}`
  }
  return undefined
}

const openFailure = (
  partition: number,
  wanted: StreamConfig,
  error: RequestFailed | ApiRefused,
  { maximumBytes, partitions }: SettingNames = platformNames
): JournalRefused | JournalUnavailable => {
  if (error._tag === "ApiRefused" && isTerminal(error)) {
    const advice =
      error.errorCode === errorCodes.storageExceeded
        ? `; each log sets aside ${wanted.max_bytes} bytes: allow the server more (max_file_store in nats.conf), each log less (${maximumBytes}), or begin with fewer partitions (${partitions})`
        : ""
    return new JournalRefused({
      message: `the stream ${wanted.name}, the log of partition ${partition}, cannot be opened: ${error.description}${advice}`
    })
  }
  return new JournalUnavailable({
    partition,
    message: `the log of partition ${partition} cannot be opened now: ${error.message}`,
    cause: error
  })
}
