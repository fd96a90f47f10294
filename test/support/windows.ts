/** Tests by the machine's clock whose counts begin anew with a minute or a day. */

export const minuteMillis = 60_000
export const dayMillis = 24 * 60 * minuteMillis

/** Does it again, from anew, where a window of this length (minutes and days are those of UTC) ended meanwhile. What it counts on must be its own. */
export const inOneWindow = async <A>(windowMillis: number, attempt: () => Promise<A>): Promise<A> => {
  for (;;) {
    const window = Math.floor(Date.now() / windowMillis)
    const answer = await attempt()
    if (Math.floor(Date.now() / windowMillis) === window) return answer
  }
}
