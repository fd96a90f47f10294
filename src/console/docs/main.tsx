/** Starts the documentation of the API (docs/platform.md, 12.7), for the public API and for that of operators. */
import { render } from "preact"
import "../style.css"
import "./docs.css"
import { ApiPage } from "./apiPage.tsx"

render(<ApiPage />, document.getElementById("app")!)
