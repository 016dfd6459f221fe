import { numberOf } from "./limits.ts"
import { deleteOldest, type Schema, type Swept, Tables } from "./tables.ts"
import type { LeaseEnd, Outcome } from "./types.ts"

/** Names a row. The deadline comes first: the oldest rows lie together, and sweeping them needs no index. */
export interface RowKey {
  /** Milliseconds since 1970. */
  readonly deadline: number
  /** The operation id's 12 bytes. */
  readonly id: Uint8Array
}

export interface Row {
  /**
   * While an attempt runs, its policy: what becomes of it when its lease ends; `rerun_again` where one ended already.
   * `free`: nothing runs.
   */
  readonly state: LeaseEnd | "rerun_again" | "free" | Outcome
  /** While an attempt runs, when its lease ends; else when it was released, answered, or its outcome recorded. */
  readonly at: number
  /** What was decided on; under strict rounds the newest answer. */
  readonly fingerprint: Uint8Array
  /** Whose call made the row: an attempt that claimed, or the call that settled. */
  readonly attempt: Uint8Array
  /** Empty where there was never a claim. */
  readonly claim: Uint8Array
  /** Under strict rounds, the newest one that was answered; else 0. */
  readonly round: number
}

/** Rows carry indexes into this list: append only, never reorder. */
const STATES: readonly Row["state"][] = [
  "report",
  "rerun",
  "free",
  "completed",
  "failed",
  "declined",
  "cancelled",
  "policy_changed",
  "rerun_again",
]

const SCHEMA: Schema = {
  versionKey: "sealed_version",
  steps: [
    `CREATE TABLE sealed (
      deadline INTEGER NOT NULL,
      id BLOB NOT NULL,
      state INTEGER NOT NULL,
      since_deadline INTEGER NOT NULL,
      fingerprint BLOB NOT NULL,
      attempt BLOB NOT NULL,
      claim BLOB NOT NULL,
      PRIMARY KEY (deadline, id)
    ) WITHOUT ROWID;
    CREATE TABLE sealed_body (
      deadline INTEGER NOT NULL,
      id BLOB NOT NULL,
      body BLOB NOT NULL,
      PRIMARY KEY (deadline, id)
    ) WITHOUT ROWID;`,
    "ALTER TABLE sealed ADD COLUMN round INTEGER NOT NULL DEFAULT 0;",
  ],
}

/** One turn of sweeping holds everybody else up: so many rows and bodies keep it to a few milliseconds. */
const ROWS_SWEPT_AT_ONCE = 4_000
const BODIES_SWEPT_AT_ONCE = 50

/**
 * The two tables of sealed operations: one row an operation, and apart from the row that decides, the bodies of
 * results.
 */
export class SealedRows {
  readonly #storage: DurableObjectStorage
  readonly #tables: Tables

  /** `onCreate` runs in the turn that creates the tables. */
  constructor(storage: DurableObjectStorage, onCreate: () => void) {
    this.#storage = storage
    this.#tables = new Tables(storage, SCHEMA, onCreate)
  }

  read(key: RowKey): Row | undefined {
    if (!this.#tables.present()) return undefined
    const [found] = this.#storage.sql
      .exec<StoredRow>(
        `SELECT state, since_deadline, fingerprint, attempt, claim, round
          FROM sealed WHERE deadline = ? AND id = ?`,
        key.deadline,
        key.id,
      )
      .toArray()
    return found && rowOf(key, found)
  }

  body(key: RowKey): Uint8Array | undefined {
    const [found] = this.#storage.sql
      .exec<{ body: ArrayBuffer }>("SELECT body FROM sealed_body WHERE deadline = ? AND id = ?", key.deadline, key.id)
      .toArray()
    return found && new Uint8Array(found.body)
  }

  /** Puts the row in the place of the one that stands there, and its body, if any, beside it: both or neither. */
  write(key: RowKey, row: Row, body?: Uint8Array): void {
    this.#tables.create()
    if (body === undefined) this.#writeRow(key, row)
    else
      this.#storage.transactionSync(() => {
        this.#writeRow(key, row)
        this.#storage.sql.exec("INSERT INTO sealed_body VALUES (?, ?, ?)", key.deadline, key.id, body)
      })
  }

  /** Deletes a bounded number of the rows whose deadline lies before the given time. */
  sweep(before: number): Swept {
    if (!this.#tables.present()) return "empty"
    const { sql } = this.#storage
    const moreBodies = deleteOldest(sql, { table: "sealed_body", time: "deadline" }, before, BODIES_SWEPT_AT_ONCE)
    const moreRows = deleteOldest(sql, { table: "sealed", time: "deadline" }, before, ROWS_SWEPT_AT_ONCE)
    if (moreBodies || moreRows) return "more to sweep"
    return sql.exec("SELECT 1 FROM sealed LIMIT 1").next().done === true ? "empty" : "swept"
  }

  /** To be called in the very turn that deletes everything in storage. */
  forget(): void {
    this.#tables.forget()
  }

  #writeRow(key: RowKey, row: Row): void {
    this.#storage.sql.exec(
      "INSERT OR REPLACE INTO sealed VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      key.deadline,
      key.id,
      numberOf(STATES, row.state),
      row.at - key.deadline,
      row.fingerprint,
      row.attempt,
      row.claim,
      row.round,
    )
  }
}

type StoredRow = {
  state: number
  /** Kept instead of the time itself because it takes half the bytes. */
  since_deadline: number
  fingerprint: ArrayBuffer
  attempt: ArrayBuffer
  claim: ArrayBuffer
  round: number
}

function rowOf(key: RowKey, stored: StoredRow): Row {
  const state = STATES[stored.state]
  if (state === undefined)
    throw new Error(`This ledger object has a record in state ${stored.state}; deploy a Waxseal that knows it.`)
  return {
    state,
    at: key.deadline + stored.since_deadline,
    fingerprint: new Uint8Array(stored.fingerprint),
    attempt: new Uint8Array(stored.attempt),
    claim: new Uint8Array(stored.claim),
    round: stored.round,
  }
}
