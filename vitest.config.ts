import { cloudflareTest } from "@cloudflare/vitest-plugin"
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    // Most files wait for processes and clocks more than they compute; the default on two cores is one at a time.
    maxWorkers: 3,
    projects: [
      {
        plugins: [
          cloudflareTest({
            main: "./src/index.ts",
            miniflare: {
              compatibilityDate: "2026-11-01",
              compatibilityFlags: ["enable_request_signal", "request_signal_passthrough"],
              bindings: {
                AUTH_MODE: "none",
                SEAL_KEYS: JSON.stringify([
                  { key: "MDEyMzQ1Njc4OWFiY2RlZkdISUpLTE1OT1BRUlNUVVY", sealsFrom: "2026-01-01T00:00:00Z" },
                ]),
              },
              durableObjects: {
                LEDGER: { className: "Ledger", useSQLite: true },
                CHANGES: { className: "Changes", useSQLite: true },
                REGISTRY: { className: "Registry", useSQLite: true },
                SESSIONS: { className: "Session", useSQLite: true },
                SESSION_LISTS: { className: "SessionList", useSQLite: true },
              },
            },
          }),
        ],
        test: {
          name: "workerd",
          include: ["test/**/*.test.ts"],
          exclude: ["test/http/**", "test/docs/**"],
          testTimeout: 30_000,
        },
      },
      { test: { name: "http", include: ["test/{http,docs}/**/*.test.ts"], testTimeout: 60_000, hookTimeout: 60_000 } },
    ],
  },
})
