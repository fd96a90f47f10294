/**
 * The local mailbox: the newest mails that would have been handed over, in memory (docs/handoff.md, 3). A mail that comes again is kept once. Needs no service.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { Envelope, OutgoingMail } from "./MailTransport.ts"

/** Mails that are kept, and characters of them; the oldest give way. */
export const maximumCaptured = 500
export const maximumCapturedCharacters = 32 * 1024 * 1024

export interface CapturedMail {
  readonly mail: OutgoingMail
  readonly envelope: Envelope
  /** Unix milliseconds. */
  readonly capturedAt: number
}

/** About how much room a mail takes, in characters. */
const sizeOf = ({ message }: OutgoingMail): number => JSON.stringify(message).length

class Captured {
  private readonly mails = new Map<string, CapturedMail & { readonly characters: number }>()
  private characters = 0

  keep(mail: OutgoingMail, envelope: Envelope, capturedAt: number): void {
    if (this.mails.has(mail.id)) return
    const characters = sizeOf(mail)
    this.mails.set(mail.id, { mail, envelope, capturedAt, characters })
    this.characters += characters
    for (const [id, oldest] of this.mails) {
      const fits = this.mails.size <= maximumCaptured && this.characters <= maximumCapturedCharacters
      // The newest stays, however large it is.
      if (fits || id === mail.id) return
      this.mails.delete(id)
      this.characters -= oldest.characters
    }
  }

  newestFirst(): ReadonlyArray<CapturedMail> {
    return [...this.mails.values()].reverse()
  }

  forget(organization: string): void {
    for (const [id, { characters, mail }] of this.mails) {
      if (mail.organization !== organization) continue
      this.mails.delete(id)
      this.characters -= characters
    }
  }

  find(id: string): CapturedMail | undefined {
    return this.mails.get(id)
  }
}

export class CaptureMailbox extends Context.Service<
  CaptureMailbox,
  {
    readonly keep: (mail: OutgoingMail, envelope: Envelope) => Effect.Effect<void>
    /** Newest first. */
    readonly list: Effect.Effect<ReadonlyArray<CapturedMail>>
    /** The mail of an id, such as that of an email. */
    readonly find: (id: string) => Effect.Effect<CapturedMail | undefined>
    /** Drops the mails of an organization. */
    readonly forget: (organization: string) => Effect.Effect<void>
  }
>()("sluice/send/CaptureMailbox") {
  static readonly layer: Layer.Layer<CaptureMailbox> = Layer.sync(CaptureMailbox, () => {
    const captured = new Captured()
    return CaptureMailbox.of({
      keep: (mail, envelope) =>
        Clock.clockWith((clock) => Effect.sync(() => captured.keep(mail, envelope, clock.currentTimeMillisUnsafe()))),
      list: Effect.sync(() => captured.newestFirst()),
      find: (id) => Effect.sync(() => captured.find(id)),
      forget: (organization) => Effect.sync(() => captured.forget(organization))
    })
  })

  /** Takes mails and keeps none: for a deployment in which nobody may look at them. */
  static readonly layerClosed: Layer.Layer<CaptureMailbox> = Layer.succeed(CaptureMailbox, {
    keep: () => Effect.void,
    list: Effect.succeed([]),
    find: () => Effect.undefined,
    forget: () => Effect.void
  })
}
