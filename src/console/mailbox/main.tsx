/** Starts the page of the local mailbox (docs/handoff.md, 3). It is a program for browsers and imports only types of the server. */
import { render } from "preact"
import "../style.css"
import "./mailbox.css"
import { Mailbox } from "./mailbox.tsx"
import { follow } from "./mails.ts"

follow()
render(<Mailbox />, document.getElementById("app")!)
