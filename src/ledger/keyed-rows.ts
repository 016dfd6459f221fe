import type { KeyedOutcome } from "./keyed-types.ts"
import { numberOf } from "./limits.ts"
import { deleteOldest, type Schema, type Swept, Tables } from "./tables.ts"
import type { LeaseEnd } from "./types.ts"

export interface KeyedRow {
  /** `free`: nothing runs, and the next attempt may. */
  readonly state: "running" | "free" | KeyedOutcome
  /** While an attempt runs, when its lease ends; else when it ended. */
  readonly at: number
  readonly attempt: Uint8Array
  readonly claim: Uint8Array
  readonly terms: Terms
}

/** What the first attempt fixed for the record's life. */
export interface Terms {
  readonly fingerprint: Uint8Array
  readonly onLeaseEnd: LeaseEnd
  readonly retentionSeconds: number
}

/** Rows carry indexes into these lists: append only, never reorder. */
const STATES: readonly KeyedRow["state"][] = ["running", "free", "completed", "failed"]
const POLICIES: readonly LeaseEnd[] = ["report", "rerun"]

const SCHEMA: Schema = {
  versionKey: "keyed_version",
  steps: [
    `CREATE TABLE keyed (
      id BLOB NOT NULL PRIMARY KEY,
      kept_until INTEGER NOT NULL,
      state INTEGER NOT NULL,
      at INTEGER NOT NULL,
      attempt BLOB NOT NULL,
      claim BLOB NOT NULL,
      fingerprint BLOB NOT NULL,
      policy INTEGER NOT NULL,
      retention INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX keyed_by_age ON keyed (kept_until, id);
    CREATE TABLE keyed_body (
      kept_until INTEGER NOT NULL,
      id BLOB NOT NULL,
      body BLOB NOT NULL,
      PRIMARY KEY (kept_until, id)
    ) WITHOUT ROWID;`,
  ],
}

/** Fewer than of sealed operations: these rows lie scattered, and each has an entry in the index. */
const ROWS_SWEPT_AT_ONCE = 500
const BODIES_SWEPT_AT_ONCE = 50

/** When the record is over: its retention after the last thing that happened to it. */
export function expiryOf({ at, terms }: KeyedRow): number {
  return at + terms.retentionSeconds * 1000
}

/**
 * The two tables of keyed operations: one row an operation, and apart from the row that decides, the bodies of results.
 *
 * Invariant: `kept_until` is never before the row's expiry. It is moved only when the expiry would pass it, so that an
 * attempt that ends within its lease leaves the index alone; a row may be kept longer than it lives, by a lease at most.
 */
export class KeyedRows {
  readonly #storage: DurableObjectStorage
  readonly #tables: Tables

  /** `onCreate` runs in the turn that creates the tables. */
  constructor(storage: DurableObjectStorage, onCreate: () => void) {
    this.#storage = storage
    this.#tables = new Tables(storage, SCHEMA, onCreate)
  }

  read(id: Uint8Array): KeyedRow | undefined {
    if (!this.#tables.present()) return undefined
    const [found] = this.#storage.sql
      .exec<StoredRow>("SELECT state, at, attempt, claim, fingerprint, policy, retention FROM keyed WHERE id = ?", id)
      .toArray()
    return found && rowOf(found)
  }

  body(id: Uint8Array): Uint8Array | undefined {
    const [found] = this.#storage.sql
      .exec<{ body: ArrayBuffer }>("SELECT body FROM keyed JOIN keyed_body USING (kept_until, id) WHERE id = ?", id)
      .toArray()
    return found && new Uint8Array(found.body)
  }

  /** Begins a record's life, in the place of one that is over. */
  insert(id: Uint8Array, row: KeyedRow): void {
    this.#tables.create()
    const { sql } = this.#storage
    this.#storage.transactionSync(() => {
      sql.exec("DELETE FROM keyed_body WHERE (kept_until, id) = (SELECT kept_until, id FROM keyed WHERE id = ?)", id)
      sql.exec(
        "INSERT OR REPLACE INTO keyed VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        id,
        expiryOf(row),
        numberOf(STATES, row.state),
        row.at,
        row.attempt,
        row.claim,
        row.terms.fingerprint,
        numberOf(POLICIES, row.terms.onLeaseEnd),
        row.terms.retentionSeconds,
      )
    })
  }

  /** Goes on with a record, whose terms stay, and puts its body, if any, beside it: all or nothing. */
  update(id: Uint8Array, row: KeyedRow, body?: Uint8Array): void {
    const { sql } = this.#storage
    this.#storage.transactionSync(() => {
      sql.exec(
        "UPDATE keyed SET state = ?, at = ?, attempt = ?, claim = ? WHERE id = ?",
        numberOf(STATES, row.state),
        row.at,
        row.attempt,
        row.claim,
        id,
      )
      const expiry = expiryOf(row)
      sql.exec("UPDATE keyed SET kept_until = ? WHERE id = ? AND kept_until < ?", expiry, id, expiry)
      if (body) sql.exec("INSERT INTO keyed_body SELECT kept_until, id, ? FROM keyed WHERE id = ?", body, id)
    })
  }

  /** Deletes a bounded number of the rows that are kept until before the given time. */
  sweep(before: number): Swept {
    if (!this.#tables.present()) return "empty"
    const { sql } = this.#storage
    const moreBodies = deleteOldest(sql, { table: "keyed_body", time: "kept_until" }, before, BODIES_SWEPT_AT_ONCE)
    const moreRows = deleteOldest(sql, { table: "keyed", time: "kept_until" }, before, ROWS_SWEPT_AT_ONCE)
    if (moreBodies || moreRows) return "more to sweep"
    return sql.exec("SELECT 1 FROM keyed LIMIT 1").next().done === true ? "empty" : "swept"
  }

  /** To be called in the very turn that deletes everything in storage. */
  forget(): void {
    this.#tables.forget()
  }
}

type StoredRow = {
  state: number
  at: number
  attempt: ArrayBuffer
  claim: ArrayBuffer
  fingerprint: ArrayBuffer
  policy: number
  retention: number
}

function rowOf(stored: StoredRow): KeyedRow {
  const state = STATES[stored.state]
  const onLeaseEnd = POLICIES[stored.policy]
  if (state === undefined || onLeaseEnd === undefined)
    throw new Error(
      `This ledger object has a record in state ${stored.state} with policy ${stored.policy}; deploy a Waxseal that knows them.`,
    )
  return {
    state,
    at: stored.at,
    attempt: new Uint8Array(stored.attempt),
    claim: new Uint8Array(stored.claim),
    terms: { fingerprint: new Uint8Array(stored.fingerprint), onLeaseEnd, retentionSeconds: stored.retention },
  }
}
