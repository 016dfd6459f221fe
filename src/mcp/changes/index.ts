/*
 * Change notifications: what one isolate announces reaches every client of that tenant that listens, at any other.
 * Knows tenants, principals and URIs; knows nothing of what they name, and stores nothing.
 */
export { type Announcer, announce } from "./announce.ts"
export { carry, type Stream } from "./carry.ts"
export { type Change, mayName, Wants } from "./change.ts"
export { type ChangesClient, type Connected, createChangesClient } from "./client.ts"
export { Changes } from "./object.ts"
