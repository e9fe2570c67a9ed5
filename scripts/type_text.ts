/** A TypeScript type as `deno doc --json` describes it, as text again. */

/** What `deno doc --json` says of a type, a parameter or a part of one. Its shape depends on `kind`. */
// deno-lint-ignore no-explicit-any
type Node = any;

const list = (nodes: Node[] | undefined, text: (node: Node) => string, separator = ", ") =>
  (nodes ?? []).map(text).join(separator);

const TYPES: Readonly<Record<string, (value: Node, node: Node) => string>> = {
  array: (value) => `${typeText(value)}[]`,
  conditional: ({ checkType, extendsType, trueType, falseType }) =>
    `${typeText(checkType)} extends ${typeText(extendsType)} ? ${typeText(trueType)} : ${typeText(falseType)}`,
  fnOrConstructor: ({ constructor: isConstructor, typeParams, params, tsType }) =>
    `${isConstructor === true ? "new " : ""}${typeParamsText(typeParams)}(${paramsText(params)}) => ${
      typeText(tsType)
    }`,
  importType: ({ specifier, qualifier, typeParams }) =>
    `import("${specifier}")${qualifier ? `.${qualifier}` : ""}${typeArguments(typeParams)}`,
  indexedAccess: ({ objType, indexType }) => `${typeText(objType)}[${typeText(indexType)}]`,
  infer: ({ typeParam }) => `infer ${typeParamText(typeParam)}`,
  intersection: (value) => list(value, typeText, " & "),
  literal: (value, { repr }) => {
    if (value.kind === "string") return JSON.stringify(value.string);
    return value.kind === "template" ? `\`${list(value.tsTypes, templatePart, "")}\`` : repr;
  },
  mapped: ({ readonly, typeParam, nameType, optional, tsType }) => {
    const key = `${typeParam.name} in ${typeText(typeParam.constraint)}${nameType ? ` as ${typeText(nameType)}` : ""}`;
    return `{ ${modifier(readonly, "readonly ")}[${key}]${modifier(optional, "?")}: ${typeText(tsType)} }`;
  },
  optional: (value) => `${typeText(value)}?`,
  parenthesized: (value) => `(${typeText(value)})`,
  rest: (value) => `...${typeText(value)}`,
  tuple: (value) => `[${list(value, typeText)}]`,
  typeLiteral: (value) => `{ ${membersText(value)} }`,
  typeOperator: ({ operator, tsType }) => `${operator} ${typeText(tsType)}`,
  typePredicate: ({ asserts, param, type }) =>
    `${asserts ? "asserts " : ""}${param.name ?? "this"}${type ? ` is ${typeText(type)}` : ""}`,
  typeQuery: (value) => `typeof ${value}`,
  typeRef: ({ typeName, typeParams }) => typeName + typeArguments(typeParams),
  union: (value) => list(value, typeText, " | "),
};

/** A type as TypeScript. */
export function typeText(type: Node): string {
  return TYPES[type.kind]?.(type.value, type) ?? type.repr;
}

/** A declaration as TypeScript, without the bodies of functions. */
export function declarationText(name: string, { kind, def }: { kind: string; def?: Node }): string {
  const typeParams = typeParamsText(def.typeParams);
  if (kind === "function") return `function ${name}${callText(def)};`;
  if (kind === "typeAlias") return `type ${name}${typeParams} = ${typeText(def.tsType)};`;
  if (kind === "variable") return `const ${name}: ${typeText(def.tsType)};`;
  const parents = [def.extends ?? []].flat();
  const heirOf = list(parents, (parent) => typeof parent === "string" ? parent : typeText(parent));
  return `${kind} ${name}${typeParams}${heirOf ? ` extends ${heirOf}` : ""} {\n${membersText(def, "\n")}\n}`;
}

/** The name of a parameter. One that is taken apart has none. */
function paramName(param: Node): string {
  if (param.kind === "assign") return paramName(param.left);
  return param.kind === "rest" ? paramName(param.arg) : param.name ?? "options";
}

function membersText(def: Node, separator = " "): string {
  return [
    ...(def.constructors ?? []).map(({ params }: Node) => `constructor(${paramsText(params)});`),
    ...(def.callSignatures ?? []).map((call: Node) => `${callText(call)};`),
    ...(def.indexSignatures ?? []).map(({ params, tsType }: Node) => `[${paramsText(params)}]: ${typeText(tsType)};`),
    ...(def.properties ?? []).map(propertyText),
    ...(def.methods ?? []).map((method: Node) =>
      `${memberName(method)}${method.optional ? "?" : ""}${callText(method.functionDef ?? method)};`
    ),
  ].join(separator);
}

function propertyText(property: Node): string {
  const start = `${property.isStatic ? "static " : ""}${property.readonly ? "readonly " : ""}${memberName(property)}`;
  return `${start}${property.optional ? "?" : ""}: ${property.tsType ? typeText(property.tsType) : "unknown"};`;
}

function memberName({ name, computed }: Node): string {
  if (computed) return `[${name}]`;
  return /^[\w$]+$/.test(name) ? name : JSON.stringify(name);
}

function callText({ typeParams, params, returnType, tsType }: Node): string {
  const result = returnType ?? tsType;
  return `${typeParamsText(typeParams)}(${paramsText(params)})${result ? `: ${typeText(result)}` : ""}`;
}

function paramsText(params: Node[]): string {
  return list(params, (param) => {
    const isOptional = param.optional || param.kind === "assign";
    const type = param.tsType ?? param.left?.tsType ?? param.arg?.tsType;
    return `${param.kind === "rest" ? "..." : ""}${paramName(param)}${isOptional ? "?" : ""}${
      type ? `: ${typeText(type)}` : ""
    }`;
  });
}

function typeParamsText(params: Node[] | undefined): string {
  return params?.length ? `<${list(params, typeParamText)}>` : "";
}

function typeParamText({ name, constraint, default: value }: Node): string {
  return `${name}${constraint ? ` extends ${typeText(constraint)}` : ""}${value ? ` = ${typeText(value)}` : ""}`;
}

function typeArguments(types: Node[] | undefined): string {
  return types?.length ? `<${list(types, typeText)}>` : "";
}

function templatePart(type: Node): string {
  return type.kind === "literal" && type.value.kind === "string" ? type.value.string : `\${${typeText(type)}}`;
}

/** `readonly` or `?` of a mapped type: set, or added or removed with a sign. */
function modifier(value: boolean | string | undefined, text: string): string {
  if (!value) return "";
  return typeof value === "string" && "+-".includes(value[0]!) ? value[0] + text : text;
}
