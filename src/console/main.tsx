/**
 * Starts the console: it signs in, then shows the views of an organization, or of the operator on the admin listener.
 * It is a program for browsers and imports only types of the API.
 */
import { render } from "preact"
import { App } from "./app.tsx"
import { isOperatorConsole } from "./session.ts"
import "./style.css"
import { routes } from "./views/routes.ts"

// Members of organizations do not load what only operators see.
const shown = isOperatorConsole ? (await import("./operator/routes.ts")).operatorRoutes : routes

render(<App routes={shown} />, document.getElementById("app")!)
