import { DurableObject, env } from "cloudflare:workers"
import type { TenantId } from "../../brands.ts"
import { within } from "../../ledger/index.ts"
import { jurisdictionOf } from "./settings.ts"

export interface Database {
  readonly name: string
  readonly region: string
  /** RFC 3339, UTC, milliseconds. */
  readonly createdAt: string
}

export interface Project {
  readonly name: string
  readonly account: string
  readonly monthlyCostUsd: number
  /** RFC 3339, UTC, milliseconds. */
  readonly createdAt: string
}

/** What the demonstration tools have made, for one tenant. */
export interface Created {
  readonly databases: Database[]
  readonly projects: Project[]
}

/** What became of a project's write. */
export type ProjectWrite =
  | { readonly kind: "created"; readonly project: Project }
  | { readonly kind: "name_taken" }
  | { readonly kind: "over_budget" }

/** Money is counted in cents, which add up exactly. */
const TABLES = `
  CREATE TABLE IF NOT EXISTS databases (
    name TEXT PRIMARY KEY, region TEXT NOT NULL, created_at TEXT NOT NULL, key TEXT NOT NULL UNIQUE
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS projects (
    name TEXT PRIMARY KEY, account TEXT NOT NULL, cents INTEGER NOT NULL, created_at TEXT NOT NULL, key TEXT NOT NULL UNIQUE
  ) WITHOUT ROWID;`

/**
 * One tenant's inventory: the world that the demonstration tools change. Each write is unique and atomic by itself, and
 * honours the idempotency key, as any effect's should.
 */
export class Registry extends DurableObject {
  readonly #sql = this.ctx.storage.sql

  /**
   * Creates a database unless its name is taken. The same key again gives what it made the first time.
   *
   * @returns the database, or `undefined` where another operation holds the name
   */
  createDatabase(key: string, name: string, region: string): Database | undefined {
    this.#sql.exec(TABLES)
    this.#sql.exec(
      "INSERT INTO databases (name, region, created_at, key) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
      name,
      region,
      new Date().toISOString(),
      key,
    )
    return this.#databases("WHERE key = ?", key).at(0)
  }

  /**
   * Creates a project unless its name is taken or the account's projects would cost more than the budget, in US dollars
   * a month. The same key again gives what it made the first time.
   */
  createProject(key: string, wanted: Omit<Project, "createdAt">, budget: number): ProjectWrite {
    this.#sql.exec(TABLES)
    const made = this.#projects("WHERE key = ?", key).at(0)
    if (made) return { kind: "created", project: made }
    const { name, account, monthlyCostUsd } = wanted
    if (this.#projects("WHERE name = ?", name).length > 0) return { kind: "name_taken" }
    if (!this.covers(budget, account, monthlyCostUsd)) return { kind: "over_budget" }
    const project = { ...wanted, createdAt: new Date().toISOString() }
    this.#sql.exec(
      "INSERT INTO projects (name, account, cents, created_at, key) VALUES (?, ?, ?, ?, ?)",
      name,
      account,
      cents(monthlyCostUsd),
      project.createdAt,
      key,
    )
    return { kind: "created", project }
  }

  /** Whether a budget covers one project more in an account, in US dollars a month. */
  covers(budget: number, account: string, monthlyCostUsd: number): boolean {
    const spent = this.#isWritten() ? this.#spentCents(account) : 0
    return spent + cents(monthlyCostUsd) <= cents(budget)
  }

  /** Everything created so far, by name. Reading an inventory that was never written leaves nothing behind. */
  created(): Created {
    if (!this.#isWritten()) return { databases: [], projects: [] }
    return { databases: this.#databases("ORDER BY name"), projects: this.#projects("ORDER BY name") }
  }

  #spentCents(account: string): number {
    const total = "SELECT coalesce(sum(cents), 0) AS total FROM projects WHERE account = ?"
    return this.#sql.exec<{ total: number }>(total, account).one().total
  }

  #isWritten(): boolean {
    return this.#sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'projects'").toArray().length > 0
  }

  #databases(clause: string, ...values: string[]): Database[] {
    return this.#sql
      .exec<DatabaseRow>(`SELECT name, region, created_at FROM databases ${clause}`, ...values)
      .toArray()
      .map(({ name, region, created_at }) => ({ name, region, createdAt: created_at }))
  }

  #projects(clause: string, ...values: string[]): Project[] {
    return this.#sql
      .exec<ProjectRow>(`SELECT name, account, cents, created_at FROM projects ${clause}`, ...values)
      .toArray()
      .map(({ name, account, cents, created_at }) => ({
        name,
        account,
        monthlyCostUsd: cents / 100,
        createdAt: created_at,
      }))
  }
}

/** The registry of one tenant. */
export function registryOf(tenant: TenantId): DurableObjectStub<Registry> {
  return within(env.REGISTRY, jurisdictionOf(tenant)).getByName(tenant)
}

type DatabaseRow = { name: string; region: string; created_at: string }
type ProjectRow = { name: string; account: string; cents: number; created_at: string }

function cents(dollars: number): number {
  return Math.round(dollars * 100)
}
