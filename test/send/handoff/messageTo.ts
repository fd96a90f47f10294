/** A plain message for tests of the hand-off. */
import type { Message } from "../../../src/send/Message.ts"

export const messageTo = (to: ReadonlyArray<string>, more: Partial<Message> = {}): Message => ({
  from: "Ann <ann@one.test>",
  to,
  cc: [],
  bcc: [],
  replyTo: [],
  subject: "Hello",
  html: "<p>Hello</p>",
  text: "Hello",
  headers: {},
  tags: [],
  attachments: [],
  ...more
})
