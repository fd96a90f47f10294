/**
 * The local mailbox: the newest mails that would have been handed over, in memory and in a folder
 * (docs/handoff.md, 3). A mail that comes again is kept once. Needs no service.
 */
import { Clock, Context, Effect, Layer, PubSub, type Scope, Semaphore } from "effect"
import type { Envelope, OutgoingMail } from "./MailTransport.ts"
import {
  type CapturedMail,
  type MailboxFolder,
  type MailboxUnwritable,
  mailboxFolder
} from "./mailbox/MailboxFolder.ts"

/** Mails that are kept, and characters of them; the oldest give way. */
export const maximumCaptured = 500
export const maximumCapturedCharacters = 32 * 1024 * 1024

/** About how much room a mail takes, in characters. */
const sizeOf = ({ message }: OutgoingMail): number => JSON.stringify(message).length

/** The mails in memory, oldest first. */
class Captured {
  private readonly mails = new Map<string, { readonly mail: CapturedMail; readonly characters: number }>()
  private characters = 0
  private last = 0

  /** The number of the next mail. */
  get nextNumber(): number {
    return this.last + 1
  }

  has(id: string): boolean {
    return this.mails.has(id)
  }

  /** Adds a mail, and answers those that give way to it. */
  add(mail: CapturedMail): ReadonlyArray<CapturedMail> {
    const characters = sizeOf(mail.mail)
    this.mails.set(mail.mail.id, { mail, characters })
    this.last = Math.max(this.last, mail.number)
    this.characters += characters
    const gone: Array<CapturedMail> = []
    for (const [id, oldest] of this.mails) {
      const fits = this.mails.size <= maximumCaptured && this.characters <= maximumCapturedCharacters
      // The newest stays, however large it is.
      if (fits || id === mail.mail.id) break
      this.remove(id)
      gone.push(oldest.mail)
    }
    return gone
  }

  /** Replaces a mail by itself in another state; its place stays. */
  replace(mail: CapturedMail): void {
    const before = this.mails.get(mail.mail.id)
    if (before !== undefined) this.mails.set(mail.mail.id, { ...before, mail })
  }

  remove(id: string): void {
    const before = this.mails.get(id)
    if (before === undefined) return
    this.mails.delete(id)
    this.characters -= before.characters
  }

  newestFirst(): ReadonlyArray<CapturedMail> {
    return [...this.mails.values()].map(({ mail }) => mail).reverse()
  }

  find(id: string): CapturedMail | undefined {
    return this.mails.get(id)?.mail
  }
}

export interface MailboxService {
  /** Keeps a mail. When this has succeeded, the end of the process loses nothing of it. */
  readonly keep: (mail: OutgoingMail, envelope: Envelope) => Effect.Effect<void, MailboxUnwritable>
  /** Newest first. */
  readonly list: Effect.Effect<ReadonlyArray<CapturedMail>>
  /** The mail of an id, such as that of an email. */
  readonly find: (id: string) => Effect.Effect<CapturedMail | undefined>
  /** Marks mails as read or unread, and answers how many of them there are. */
  readonly mark: (ids: ReadonlyArray<string>, isRead: boolean) => Effect.Effect<number, MailboxUnwritable>
  /** Deletes mails, and answers how many there were. */
  readonly remove: (ids: ReadonlyArray<string>) => Effect.Effect<number, MailboxUnwritable>
  /** Deletes all mails, and the files that could not be read. */
  readonly clear: Effect.Effect<number, MailboxUnwritable>
  /** Deletes the mails of an organization. */
  readonly forget: (organization: string) => Effect.Effect<void>
  /** How many mails have given way to newer ones since the start. */
  readonly gone: Effect.Effect<number>
  /** A subscription that has something after each change. Of several changes that nobody took one is left. */
  readonly changes: Effect.Effect<PubSub.Subscription<void>, never, Scope.Scope>
}

export class CaptureMailbox extends Context.Service<CaptureMailbox, MailboxService>()("sluice/send/CaptureMailbox") {
  /** In memory alone. */
  static readonly layer: Layer.Layer<CaptureMailbox> = Layer.effect(
    CaptureMailbox,
    Effect.suspend(() => makeMailbox(undefined))
  )

  /** In memory and in a folder, from which it begins. A folder that cannot be read is a warning, and an empty mailbox. */
  static readonly layerIn = (folder: string): Layer.Layer<CaptureMailbox> =>
    Layer.effect(
      CaptureMailbox,
      Effect.suspend(() => makeMailbox(mailboxFolder(folder)))
    )

  /** Takes mails and keeps none: for a deployment in which nobody may look at them. */
  static readonly layerClosed: Layer.Layer<CaptureMailbox> = Layer.effect(
    CaptureMailbox,
    Effect.map(PubSub.sliding<void>(1), (changes) => ({
      keep: () => Effect.void,
      list: Effect.succeed([]),
      find: () => Effect.undefined,
      mark: () => Effect.succeed(0),
      remove: () => Effect.succeed(0),
      clear: Effect.succeed(0),
      forget: () => Effect.void,
      gone: Effect.succeed(0),
      changes: PubSub.subscribe(changes)
    }))
  )
}

/** Fills the mailbox from its folder. */
const begin = Effect.fnUntraced(function* (captured: Captured, folder: MailboxFolder) {
  const { damaged, mails } = yield* Effect.catch(folder.read, (error) =>
    Effect.as(Effect.logWarning("The local mailbox begins empty, because its folder cannot be read", error), {
      mails: [],
      damaged: []
    })
  )
  if (damaged.length > 0)
    yield* Effect.logWarning(
      `The local mailbox skips ${damaged.length} damaged files: ${damaged.slice(0, 5).join(", ")}`
    )
  // The bounds of an earlier version may have been larger.
  for (const mail of mails) for (const old of captured.add(mail)) yield* Effect.ignore(folder.remove(old))
})

/** The folder of a mailbox that has none. */
const nowhere: MailboxFolder = {
  read: Effect.succeed({ mails: [], damaged: [] }),
  write: () => Effect.void,
  mark: () => Effect.void,
  remove: () => Effect.void,
  clear: Effect.void
}

const makeMailbox = Effect.fnUntraced(function* (
  given: MailboxFolder | undefined
): Effect.fn.Return<MailboxService, never, Scope.Scope> {
  const folder = given ?? nowhere
  const captured = new Captured()
  const changes = yield* PubSub.sliding<void>(1)
  // Memory and folder change together, and nobody comes between.
  const alone = Semaphore.makeUnsafe(1).withPermits(1)
  let gone = 0
  yield* begin(captured, folder)
  const changed = PubSub.publish(changes, undefined)

  const foundOf = (ids: ReadonlyArray<string>) =>
    [...new Set(ids)].flatMap((id) => {
      const mail = captured.find(id)
      return mail === undefined ? [] : [mail]
    })

  const keep = Effect.fnUntraced(function* (mail: OutgoingMail, envelope: Envelope) {
    if (captured.has(mail.id)) return
    const capturedAt = yield* Clock.currentTimeMillis
    const one: CapturedMail = { mail, envelope, capturedAt, number: captured.nextNumber, isRead: false }
    yield* folder.write(one)
    for (const old of captured.add(one)) {
      gone++
      yield* Effect.catch(folder.remove(old), (error) =>
        Effect.logWarning("An old mail of the local mailbox stays in its folder", error)
      )
    }
    yield* changed
  })

  const remove = Effect.fnUntraced(function* (mails: ReadonlyArray<CapturedMail>) {
    for (const mail of mails) {
      yield* folder.remove(mail)
      captured.remove(mail.mail.id)
    }
    if (mails.length > 0) yield* changed
    return mails.length
  })

  const mark = Effect.fnUntraced(function* (mails: ReadonlyArray<CapturedMail>, isRead: boolean) {
    const others = mails.filter((mail) => mail.isRead !== isRead)
    for (const mail of others) {
      yield* folder.mark(mail, isRead)
      captured.replace({ ...mail, isRead })
    }
    if (others.length > 0) yield* changed
    return mails.length
  })

  const whole = <A, E>(act: Effect.Effect<A, E>): Effect.Effect<A, E> => Effect.uninterruptible(alone(act))

  return {
    keep: (mail, envelope) => whole(keep(mail, envelope)),
    list: Effect.sync(() => captured.newestFirst()),
    find: (id) => Effect.sync(() => captured.find(id)),
    mark: (ids, isRead) => whole(Effect.suspend(() => mark(foundOf(ids), isRead))),
    remove: (ids) => whole(Effect.suspend(() => remove(foundOf(ids)))),
    clear: whole(Effect.suspend(() => Effect.tap(remove(captured.newestFirst()), () => folder.clear))),
    forget: (organization) =>
      whole(
        Effect.suspend(() => remove(captured.newestFirst().filter(({ mail }) => mail.organization === organization)))
      ).pipe(
        Effect.catch((error) => Effect.logWarning("Mails of a deleted organization stay in the local mailbox", error)),
        Effect.asVoid
      ),
    gone: Effect.sync(() => gone),
    changes: PubSub.subscribe(changes)
  }
})
