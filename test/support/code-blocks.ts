export interface CodeBlock {
  readonly language: string
  readonly code: string
}

/** The fenced blocks of a page, in order. */
export function codeBlocks(markdown: string): CodeBlock[] {
  return [...markdown.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = "", code = ""]) => ({
    language,
    code,
  }))
}
