/*
 * Sessions of 2025-era clients: an id that is a sealed token, and an object behind it only while it is talked to.
 * Knows the SDK's transport and who may use a session; it must not know what a server offers, how access tokens are
 * verified, or that later revisions exist.
 */
export { answerBodiless, answerMessage, beginSession, isBeginning, namedSession } from "./door.ts"
export { SessionList } from "./list.ts"
export type { SessionListStub, SessionStub } from "./message.ts"
export { SessionObject } from "./object.ts"
export { createSessions, type SessionEvent, type Sessions, type SessionsOptions } from "./sessions.ts"
