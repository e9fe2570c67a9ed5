/** The shape of error answers, for OpenAPI documents. */
/** A JSON Schema, in the dialect that `@fastify/swagger` takes for documents of every version. */
export interface JsonSchema {
  type?: string | readonly string[];
  description?: string;
  format?: string;
  enum?: readonly unknown[];
  properties?: Readonly<Record<string, JsonSchema>>;
  required?: readonly string[];
  additionalProperties?: boolean | JsonSchema;
  headers?: Readonly<Record<string, JsonSchema>>;
}

/** The shape of an error of Fastify with one of these codes. */
export function errorSchema(...codes: readonly string[]): JsonSchema {
  return {
    type: "object",
    required: ["statusCode", "code", "error", "message"],
    properties: {
      statusCode: { type: "integer" },
      code: { type: "string", enum: codes },
      error: { type: "string" },
      message: { type: "string" },
    },
  };
}
