import { DurableObject, env } from "cloudflare:workers"
import type { TenantId } from "../../brands.ts"

export interface Database {
  readonly name: string
  readonly region: string
  /** RFC 3339, UTC, milliseconds. */
  readonly createdAt: string
}

/** What the demonstration tools have made, for one tenant. */
export interface Created {
  readonly databases: Database[]
}

/**
 * One tenant's inventory: the world that the demonstration tools change. Its write is unique and atomic by itself, and
 * honours the idempotency key, as any effect's should.
 */
export class Registry extends DurableObject {
  /**
   * Creates a database unless its name is taken. The same key again gives what it made the first time.
   *
   * @returns the database, or `undefined` where another operation holds the name
   */
  createDatabase(key: string, name: string, region: string): Database | undefined {
    const { sql } = this.ctx.storage
    sql.exec(`CREATE TABLE IF NOT EXISTS databases (
      name TEXT PRIMARY KEY, region TEXT NOT NULL, created_at TEXT NOT NULL, key TEXT NOT NULL UNIQUE
    ) WITHOUT ROWID`)
    sql.exec(
      "INSERT INTO databases (name, region, created_at, key) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
      name,
      region,
      new Date().toISOString(),
      key,
    )
    return sql
      .exec<Row>("SELECT name, region, created_at FROM databases WHERE key = ?", key)
      .toArray()
      .map(database)
      .at(0)
  }

  /** Everything created so far, by name. Reading an inventory that was never written leaves nothing behind. */
  created(): Created {
    const { sql } = this.ctx.storage
    const exists = sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'databases'").toArray().length > 0
    if (!exists) return { databases: [] }
    return {
      databases: sql.exec<Row>("SELECT name, region, created_at FROM databases ORDER BY name").toArray().map(database),
    }
  }
}

/** The registry of one tenant. */
export function registryOf(tenant: TenantId): DurableObjectStub<Registry> {
  return env.REGISTRY.getByName(tenant)
}

type Row = { name: string; region: string; created_at: string }

function database({ name, region, created_at }: Row): Database {
  return { name, region, createdAt: created_at }
}
