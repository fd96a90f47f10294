/** Reads the signed-in session: an organization's, or a portal's, which may not ask for one of an organization. */
import { ApiError, get } from "./api.ts"
import { chooseMode, chosenMode, portal, session } from "./session.ts"

/** A session that is not a member's knows its own mode alone, and no choice that was made before it. */
const read = async () => {
  try {
    return await get("/v1/console/session")
  } catch (cause) {
    if (!(cause instanceof ApiError && cause.status === 401 && chosenMode.value === "test")) throw cause
    chooseMode("live")
    return get("/v1/console/session")
  }
}

export const enter = async (): Promise<void> => {
  try {
    const found = await read()
    if (found.member === null) chooseMode("live")
    portal.value = null
    session.value = found
  } catch (cause) {
    const isPortal = cause instanceof ApiError && cause.status === 403
    portal.value = isPortal ? await get("/v1/console/portal").catch(() => null) : null
    session.value = null
  }
}
