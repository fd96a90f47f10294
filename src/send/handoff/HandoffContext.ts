/** Defines the services and settings of the hand-off. */
import type { Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { BoundedMap } from "../../common/BoundedMap.ts"
import type { JobOutcome, PartitionClaim, TakenJob, WorkQueue, WorkQueueUnavailable } from "../../postgres/WorkQueue.ts"
import type { MessageContents } from "../emails/contents/MessageContents.ts"
import type { AdmissionAsks } from "../library/admissionAsks.ts"
import type { AccountAlert } from "./accountAlerts.ts"
import type { HandoffMetrics } from "./HandoffMetrics.ts"
import type { HandoffGroup } from "./HandoffWorkers.ts"
import type { MailTasks } from "./MailTasks.ts"
import type { HandoffAnswer, MailTransport } from "./MailTransport.ts"

export interface HandoffSettings {
  readonly takingPlaces: number
  readonly leaseMillis: number
  readonly attemptMillis: number
  readonly deliverTimeoutMillis: number
  readonly scanMillis: number
  readonly troubleMillis: number
  /** How long a shutdown waits for the mails under way. */
  readonly drainMillis: number
  /** The address that notices are from. */
  readonly noticesFrom: string
}

export interface HandoffContext {
  readonly settings: HandoffSettings
  readonly queue: WorkQueue
  /** Whether attempts have spans. */
  readonly isTraced: boolean
  /** Takes jobs of one account, together with those of other accounts that are taken at the same time. */
  readonly take: (claims: ReadonlyArray<PartitionClaim>) => Effect.Effect<ReadonlyArray<TakenJob>, WorkQueueUnavailable>
  /** Ends mails that were taken from memory, and settles the other jobs together with those of other accounts. */
  readonly settle: (outcomes: ReadonlyArray<JobOutcome>) => Effect.Effect<void, WorkQueueUnavailable>
  /** Changes jobs in the queue before their mails have ended, once the queue has them. */
  readonly note: (outcomes: ReadonlyArray<JobOutcome>) => Effect.Effect<void, WorkQueueUnavailable>
  /** The mails of acknowledged frames that are not recorded yet. */
  readonly tasks: MailTasks
  readonly asks: AdmissionAsks
  readonly contents: MessageContents["Service"]
  readonly transport: MailTransport["Service"]
  readonly metrics: HandoffMetrics
  /** The outcomes of jobs whose mail was handed over, by their ids, until they are recorded: such a mail is not handed over again. */
  readonly unrecorded: BoundedMap<string, HandoffAnswer>
  readonly contactOf: (
    organization: string
  ) => Effect.Effect<{ readonly email: string; readonly name: string } | null, SqlError.SqlError>
  /** Tells operators and the organization where the relay refuses the account that mail is sent with. */
  readonly alert: AccountAlert
  /** Lets the mails of an account go that wait for the end of its pause. */
  readonly goOn: (group: HandoffGroup, at: number) => Effect.Effect<void, SqlError.SqlError>
}
