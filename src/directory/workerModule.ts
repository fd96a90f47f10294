/**
 * Locates the module of the ingestion thread: TypeScript beside this file, JavaScript in the published package; a
 * bundle has the thread beside itself.
 */
export const workerModule: URL = new URL(
  import.meta.url.endsWith(".ts") ? "./ingestionWorker.ts" : "./ingestionWorker.js",
  import.meta.url
)
