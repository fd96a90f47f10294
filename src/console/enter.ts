/** Reads the signed-in session: an organization's, or a portal's, which may not ask for one of an organization. */
import { ApiError, get } from "./api.ts"
import { portal, session } from "./session.ts"

export const enter = async (): Promise<void> => {
  try {
    const found = await get("/v1/console/session")
    portal.value = null
    session.value = found
  } catch (cause) {
    const isPortal = cause instanceof ApiError && cause.status === 403
    portal.value = isPortal ? await get("/v1/console/portal").catch(() => null) : null
    session.value = null
  }
}
