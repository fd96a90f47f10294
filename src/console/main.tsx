/**
 * Starts the console: it signs in, then shows the views of an organization, of a portal, or of the operator on the admin
 * listener. It is a program for browsers and imports only types of the API.
 */
import { render } from "preact"
import { App } from "./app.tsx"
import { isOperatorConsole, portal } from "./session.ts"
import "./style.css"
import type { Route } from "./views/routes.ts"

/** The views of the user that is signed in. Neither operators nor members of organizations load those of the other. */
const load = async (): Promise<() => ReadonlyArray<Route>> => {
  if (isOperatorConsole) {
    const { operatorRoutes } = await import("./operator/routes.ts")
    return () => operatorRoutes
  }
  const { portalRoutes, routes } = await import("./views/routes.ts")
  return () => (portal.value === null ? routes : portalRoutes)
}

render(<App routes={await load()} />, document.getElementById("app")!)
