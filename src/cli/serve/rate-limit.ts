/** The name by which a configuration imports the module below. */
export const RATE_LIMIT_MODULE = "waxseal:rate-limit"

/**
 * Stands in for the platform's own counters, which the runtime has none of outside the platform: a module that makes a
 * binding with their one method. A window is a key's own, from its first call on, and is forgotten when it ends; all
 * are as long, so the oldest stand first. A clock that was put back does not make a window longer.
 */
export const RATE_LIMIT = `export default function ({ limit, period }) {
  const windows = new Map()
  return {
    async limit({ key }) {
      const now = Date.now()
      for (const [oldest, { endsAt }] of windows) {
        if (endsAt > now && endsAt <= now + period * 1000) break
        windows.delete(oldest)
      }
      const window = windows.get(key) ?? { calls: 0, endsAt: now + period * 1000 }
      windows.set(key, window)
      window.calls += 1
      return { success: window.calls <= limit }
    },
  }
}`
