/**
 * How long a test waits for a condition before it fails. Only what never comes takes as long: how quick a machine is decides nothing here, and is judged by the bench
 * alone.
 */
export const patienceMillis = 600_000
