/** Where the protected resource at `path` describes itself (RFC 9728 3.1). */
export function metadataPath(path: string): string {
  return `/.well-known/oauth-protected-resource${path}`
}

/** The protected resource's metadata (RFC 9728 2): which issuer's tokens, in which header, with which scopes. */
export function resourceMetadata(resource: string, issuer: string | undefined, scopes: readonly string[]): Response {
  return Response.json(
    {
      resource,
      ...(issuer !== undefined && { authorization_servers: [issuer] }),
      bearer_methods_supported: ["header"],
      scopes_supported: scopes,
      resource_name: "Waxseal",
    },
    { headers: { "Cache-Control": "public, max-age=300", Vary: "Origin" } },
  )
}
