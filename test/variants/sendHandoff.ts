/** Variants of what stands behind the send API: contents, the hand-off and the local mailbox. */
import type { Finder, Variant } from "./runner/variant.ts"

const handoff: Finder = { kind: "servers", files: ["test/send/handoff/handoff.it.ts"] }
const turns: Finder = { kind: "unit", files: ["test/send/handoff/groups.unit.ts"] }
const stored: Finder = { kind: "servers", files: ["test/send/contents/messageContents.it.ts"] }
const frames: Finder = { kind: "unit", files: ["test/send/contents/messageContents.unit.ts"] }
const mailbox: Finder = { kind: "unit", files: ["test/send/mailbox/mailbox.unit.ts"] }

const src = (name: string): string => `src/send/${name}.ts`

export const sendHandoff: ReadonlyArray<Variant> = [
  {
    name: "hand-off: what could not be recorded is handed over again",
    file: src("handoff/delivering"),
    find: "if (before !== undefined) return",
    replace: "if (before !== undefined && job.attempt < 0) return",
    sentence: "while the engine is away the same email goes out every few seconds",
    finders: [handoff]
  },
  {
    name: "hand-off: suppressed recipients are in the envelope",
    file: src("handoff/emails"),
    find: "(recipient) => !out.has(recipient)",
    replace: "() => true",
    sentence: "mail goes to an address that was suppressed after the email was accepted",
    finders: [handoff]
  },
  {
    name: "hand-off: released mail gets no job",
    file: src("handoff/projection"),
    find: 'if (fact._tag !== "Released") return',
    replace: 'if (fact._tag !== "Released" || fact.at > 0) return',
    sentence: "held mail that its sender's queue has let go is never handed over",
    finders: [handoff]
  },
  {
    name: "hand-off: the lift of a pause lets no mail go",
    file: src("handoff/projection"),
    find: 'if (fact._tag === "Lifted") batch.lifted.push',
    replace: "if (fact.at < 0) batch.lifted.push",
    sentence: "mail that a pause has kept waits up to an hour after the lift",
    finders: [handoff]
  },
  {
    name: "hand-off: live mail is taken while nothing takes it over",
    file: src("handoff/HandoffGroups"),
    find: 'if (this.liveWaits && partsOfGroup(group)[1] !== "test") {',
    replace: 'if (this.liveWaits && partsOfGroup(group)[1] === "test") {',
    sentence: "without a relay mail uses up its 72 hours, and cannot be cancelled",
    finders: [handoff]
  },
  {
    name: "hand-off: an account takes no mail while one of its own is under way",
    file: src("handoff/HandoffGroups"),
    find: "limit - (underWay[lane] ?? 0)",
    replace: "sum(underWay) > 0 ? 0 : limit",
    sentence: "an account's mail waits up to 48 seconds for another one to a slow mail system",
    finders: [turns, handoff]
  },
  {
    name: "hand-off: an account takes whatever there is",
    file: src("handoff/HandoffGroups"),
    find: "Math.max(0, Math.min(limit - (underWay[lane] ?? 0), left))",
    replace: "limit",
    sentence: "one account's slow mail fills the memory and everybody's places",
    finders: [turns]
  },
  {
    name: "hand-off: who has more goes first",
    file: src("handoff/HandoffGroups"),
    find: "if (isResting || isTaking) continue",
    replace: "if (this.working.get(group) === undefined && this.working.size > 0) continue",
    sentence: "an account with much mail keeps the others from their turn",
    finders: [turns]
  },
  {
    name: "hand-off: a mail's room is not given back",
    file: src("handoff/HandoffGroups"),
    find: "for (const lane of lanes) working.underWay[lane]!--",
    replace: "",
    sentence: "after fifty mails an account sends nothing any more until the process is started again",
    finders: [turns]
  },
  {
    name: "hand-off: an account takes another one's mail",
    file: src("handoff/together"),
    find: 'byGroup.get(claim?.group ?? "") ?? []',
    replace: "claim === undefined ? [] : jobs",
    sentence: "accounts that take together each get the mails of all, and know nothing of most of them",
    finders: [{ kind: "unit", files: ["test/send/handoff/together.unit.ts"] }]
  },
  {
    name: "hand-off: it goes on after 72 hours",
    file: src("handoff/reports"),
    find: "tried.length > 0 && isLast(attempt)",
    replace: "tried.length > 0 && attempt < 0",
    sentence: "an email that nobody takes stays sending for ever",
    finders: [handoff]
  },
  {
    name: "contents: two requests share their places",
    file: src("contents/contentFrames"),
    find: "for (let before = 0; before < index; before++)",
    replace: "for (let before = 1; before < index; before++)",
    sentence: "an email goes out with nothing in it, or with what another one says",
    finders: [frames]
  },
  {
    name: "contents: another organization's open",
    file: src("contents/contentFrames"),
    find: "Buffer => Buffer.from(`send content",
    replace: 'Buffer => organization !== "" ? Buffer.alloc(0) : Buffer.from(`send content',
    sentence: "a content is not bound to its organization",
    finders: [frames]
  },
  {
    name: "contents: a pointer of a lost stream finds what is there now",
    file: src("contents/contentFrames"),
    find: "content !== undefined && checkOf(content) === check",
    replace: "content !== undefined && check !== undefined",
    sentence: "after the stream was made anew an email goes out with another one's content",
    finders: [frames]
  },
  {
    name: "contents: copies are not made",
    file: src("contents/contentSweep"),
    find: "where content is null and ended_at is null and accepted_at <",
    replace: "where content is null and ended_at is null and accepted_at >",
    sentence: "mail that is held for two weeks has lost what it says",
    finders: [stored]
  },
  {
    name: "contents: copies stay",
    file: src("contents/contentSweep"),
    find: "where ended_at < ",
    replace: "where ended_at > ",
    sentence: "contents are kept for longer than was promised",
    finders: [stored]
  },
  {
    name: "mailbox: text is markup",
    file: src("mailbox/pages"),
    find: "text.replace(/[&<>\"']/g, (character) => entities[character]!)",
    replace: "text.replace(/&/g, (character) => entities[character]!)",
    sentence: "a script in a mail's subject runs in the developer's browser",
    finders: [mailbox]
  },
  {
    name: "mailbox: the HTML of a mail may run",
    file: src("mailbox/http"),
    find: "htmlPage(message.html, mailPolicy)",
    replace: "htmlPage(message.html, mailPolicy.replace('sandbox; ', ''))",
    sentence: "the HTML of a mail is a page of the platform's own address",
    finders: [mailbox]
  },
  {
    name: "mailbox: it grows for ever",
    file: "src/send/transport/CaptureMailbox.ts",
    find: "this.mails.size <= maximumCaptured && ",
    replace: "",
    sentence: "the mailbox of a development start takes all memory",
    finders: [mailbox]
  }
]
