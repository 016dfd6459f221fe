/** The tables of one kind of record, and how they came to be what they are. */
export interface Schema {
  /** Under this key storage keeps how many of the steps an object has taken. */
  readonly versionKey: string
  /** Each takes an object from one version to the next; the first creates the tables. Append only, never change one. */
  readonly steps: readonly string[]
}

/**
 * Knows whether an object has the tables of a schema. The first write creates them; reading where nothing was written
 * leaves nothing behind. An object of an earlier version takes the missing steps when it is first read.
 */
export class Tables {
  readonly #storage: DurableObjectStorage
  readonly #schema: Schema
  readonly #onCreate: () => void
  /** Never true of tables that storage does not have. */
  #ready = false

  /** `onCreate` runs in the turn that creates the tables. */
  constructor(storage: DurableObjectStorage, schema: Schema, onCreate: () => void) {
    this.#storage = storage
    this.#schema = schema
    this.#onCreate = onCreate
  }

  present(): boolean {
    if (this.#ready) return true
    const version = this.#storage.kv.get<number>(this.#schema.versionKey)
    if (version === undefined) return false
    this.#upgrade(version)
    return true
  }

  create(): void {
    if (this.present()) return
    this.#upgrade(0)
    this.#onCreate()
  }

  /** To be called in the very turn that deletes everything in storage. */
  forget(): void {
    this.#ready = false
  }

  #upgrade(version: number): void {
    const { steps, versionKey } = this.#schema
    if (version > steps.length)
      throw new Error(
        `This ledger object was written by version ${version} of its schema; deploy a Waxseal that knows it.`,
      )
    if (version < steps.length)
      this.#storage.transactionSync(() => {
        for (const step of steps.slice(version)) this.#storage.sql.exec(step)
        this.#storage.kv.put(versionKey, steps.length)
      })
    this.#ready = true
  }
}

/** A table whose rows are over when their time has passed. Its names stand in queries as they are. */
interface Ageing {
  readonly table: string
  readonly time: string
}

/** Deletes a bounded number of the rows whose time lies before the given one; true when such rows are left. */
export function deleteOldest(sql: SqlStorage, { table, time }: Ageing, before: number, atMost: number): boolean {
  const [next] = sql
    .exec<{ time: number; id: ArrayBuffer }>(
      `SELECT ${time} AS time, id FROM ${table} WHERE ${time} < ? ORDER BY ${time}, id LIMIT 1 OFFSET ?`,
      before,
      atMost,
    )
    .toArray()
  if (next === undefined) sql.exec(`DELETE FROM ${table} WHERE ${time} < ?`, before)
  else sql.exec(`DELETE FROM ${table} WHERE (${time}, id) < (?, ?)`, next.time, next.id)
  return next !== undefined
}

/** How far a sweep came. */
export type Swept = "more to sweep" | "swept" | "empty"
