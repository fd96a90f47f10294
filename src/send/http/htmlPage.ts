/** Makes the pages behind mailed links. They are for people, and send their address to no other site. */
import { HttpServerResponse } from "effect/http"

/** Text within HTML. */
export const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`)

/** Nothing of the page may be kept, framed or told to others: its address is the secret. */
const headers = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  "x-content-type-options": "nosniff"
}

/** A small page. `title` is a text, `body` HTML. */
export const htmlPage = (title: string, status: number, body: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.html(
    `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title>
<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:4rem auto;padding:0 1rem}button{font:inherit;padding:.5rem 1rem}</style></head>
<body>${body}</body></html>
`
  ).pipe(HttpServerResponse.setStatus(status), HttpServerResponse.setHeaders(headers))
