/** Names the one SQL reactor of each partition, as the cursors hold it. Stored: never rename it. */
export const projectionsName = "projections"
