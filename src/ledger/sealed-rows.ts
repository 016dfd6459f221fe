import type { LeaseEnd, Outcome } from "./types.ts"

/** Names a row. The deadline comes first: the oldest rows lie together, and sweeping them needs no index. */
export interface RowKey {
  /** Milliseconds since 1970. */
  readonly deadline: number
  /** The operation id's 12 bytes. */
  readonly id: Uint8Array
}

export interface Row {
  /** While an attempt runs, its policy: what becomes of it when its lease ends. */
  readonly state: LeaseEnd | "released" | Outcome
  /** While an attempt runs, when its lease ends; else when the claim was released or the outcome recorded. */
  readonly at: number
  readonly fingerprint: Uint8Array
  /** Whose call made the row: an attempt that claimed, or the call that settled. */
  readonly attempt: Uint8Array
  /** Empty where the outcome was settled without a claim. */
  readonly claim: Uint8Array
}

/** Rows carry indexes into this list: append only, never reorder. */
const STATES: readonly Row["state"][] = [
  "report",
  "rerun",
  "released",
  "completed",
  "failed",
  "declined",
  "cancelled",
  "policy_changed",
]

const VERSION = 1
const VERSION_KEY = "sealed_version"
const TABLES = `
  CREATE TABLE sealed (
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
  ) WITHOUT ROWID;`

/** One turn of sweeping holds everybody else up: so many rows and bodies keep it to some ten milliseconds. */
const ROWS_SWEPT_AT_ONCE = 10_000
const BODIES_SWEPT_AT_ONCE = 100

/**
 * The two tables of sealed operations: one row an operation, and apart from the row that decides, the bodies of
 * results. The first write creates them; reading where nothing was written leaves nothing behind.
 */
export class SealedRows {
  readonly #storage: DurableObjectStorage
  readonly #onCreate: () => void
  /** Never true of tables that storage does not have. */
  #exist = false

  /** `onCreate` runs in the turn that creates the tables. */
  constructor(storage: DurableObjectStorage, onCreate: () => void) {
    this.#storage = storage
    this.#onCreate = onCreate
  }

  read(key: RowKey): Row | undefined {
    if (!this.#present()) return undefined
    const [found] = this.#storage.sql
      .exec<StoredRow>(
        "SELECT state, since_deadline, fingerprint, attempt, claim FROM sealed WHERE deadline = ? AND id = ?",
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
    if (!this.#present()) this.#create()
    if (body === undefined) this.#writeRow(key, row)
    else
      this.#storage.transactionSync(() => {
        this.#writeRow(key, row)
        this.#storage.sql.exec("INSERT INTO sealed_body VALUES (?, ?, ?)", key.deadline, key.id, body)
      })
  }

  /** Deletes a bounded number of the rows whose deadline lies before the given time, and says whether any are left. */
  sweep(before: number): "more to sweep" | "swept" | "empty" {
    if (!this.#present()) return "empty"
    const moreBodies = this.#deleteOldest("sealed_body", before, BODIES_SWEPT_AT_ONCE)
    const moreRows = this.#deleteOldest("sealed", before, ROWS_SWEPT_AT_ONCE)
    if (moreBodies || moreRows) return "more to sweep"
    return this.#isEmpty() ? "empty" : "swept"
  }

  /** To be called in the very turn that deletes everything in storage. */
  forget(): void {
    this.#exist = false
  }

  #present(): boolean {
    if (this.#exist) return true
    const version = this.#storage.kv.get<number>(VERSION_KEY)
    if (version !== undefined && version !== VERSION)
      throw new Error(
        `This ledger object was written by version ${version} of its schema; deploy a Waxseal that knows it.`,
      )
    this.#exist = version === VERSION
    return this.#exist
  }

  #create(): void {
    this.#storage.sql.exec(TABLES)
    this.#storage.kv.put(VERSION_KEY, VERSION)
    this.#exist = true
    this.#onCreate()
  }

  #writeRow(key: RowKey, row: Row): void {
    this.#storage.sql.exec(
      "INSERT OR REPLACE INTO sealed VALUES (?, ?, ?, ?, ?, ?, ?)",
      key.deadline,
      key.id,
      STATES.indexOf(row.state),
      row.at - key.deadline,
      row.fingerprint,
      row.attempt,
      row.claim,
    )
  }

  /** True when rows are left that lie before the given time. */
  #deleteOldest(table: "sealed" | "sealed_body", before: number, atMost: number): boolean {
    const { sql } = this.#storage
    const [next] = sql
      .exec<{ deadline: number; id: ArrayBuffer }>(
        `SELECT deadline, id FROM ${table} WHERE deadline < ? ORDER BY deadline, id LIMIT 1 OFFSET ?`,
        before,
        atMost,
      )
      .toArray()
    if (next === undefined) sql.exec(`DELETE FROM ${table} WHERE deadline < ?`, before)
    else sql.exec(`DELETE FROM ${table} WHERE (deadline, id) < (?, ?)`, next.deadline, next.id)
    return next !== undefined
  }

  #isEmpty(): boolean {
    return this.#storage.sql.exec("SELECT 1 FROM sealed LIMIT 1").next().done === true
  }
}

type StoredRow = {
  state: number
  /** Kept instead of the time itself because it takes half the bytes. */
  since_deadline: number
  fingerprint: ArrayBuffer
  attempt: ArrayBuffer
  claim: ArrayBuffer
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
  }
}
