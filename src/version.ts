/** The package's version, as discovery and health checks tell it. */
export const VERSION = "0.1.0"
