/** The part of a scenario that needs a tool of the suite's own is excused, by the ids of its checks. */
type Scenario = readonly [name: string, excused?: readonly string[]]

/** The scenarios that any server can be held to: they need no tool, prompt or resource of the suite's own. */
export const FOR_ANY_SERVER: Readonly<Record<"2026-07-28" | "2025-11-25", readonly Scenario[]>> = {
  "2026-07-28": [
    [
      "server-stateless",
      [
        "sep-2575-server-rejects-undeclared-capability",
        "sep-2575-missing-capability-http-400",
        "sep-2575-http-server-no-independent-requests-on-stream",
        "sep-2575-server-no-log-without-loglevel",
      ],
    ],
    ["tools-list"],
    ["server-sse-multiple-streams"],
    ["resources-list"],
    ["sep-2164-resource-not-found"],
    ["prompts-list"],
    ["dns-rebinding-protection"],
    ["caching"],
    ["input-required-result-unsupported-methods"],
    ["http-header-validation"],
  ],
  "2025-11-25": [
    ["server-initialize"],
    ["ping"],
    ["tools-list"],
    ["server-sse-multiple-streams"],
    ["resources-list"],
    ["resources-subscribe"],
    ["resources-unsubscribe"],
    ["prompts-list"],
    ["dns-rebinding-protection"],
    ["server-session-lifecycle"],
  ],
}
