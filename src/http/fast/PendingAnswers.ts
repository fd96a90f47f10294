/**
 * Lists requests that wait for their answers, as a linked list. V8 copies a `Set` with this much turnover repeatedly,
 * and the copies left in the old heap keep the requests that were in them alive until the next full collection.
 */
export interface Link {
  before: Link | undefined
  after: Link | undefined
}

/** A list of links. A link waits in one list at most; one that waits has another before it. */
export class PendingAnswers<Member extends Link> {
  private readonly head: Link = { before: undefined, after: undefined }

  add(member: Member): void {
    const { head } = this
    member.before = head
    member.after = head.after
    if (head.after !== undefined) head.after.before = member
    head.after = member
  }

  /** Removes a member, if it waits. */
  delete(member: Member): void {
    const { after, before } = member
    if (before === undefined) return
    before.after = after
    if (after !== undefined) after.before = before
    member.before = undefined
    member.after = undefined
  }

  has(member: Member): boolean {
    return member.before !== undefined
  }

  /** A copy of the members. */
  all(): ReadonlyArray<Member> {
    const members: Array<Member> = []
    // Only members are behind the head.
    for (let one = this.head.after; one !== undefined; one = one.after) members.push(one as Member)
    return members
  }
}
