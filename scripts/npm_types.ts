/** Reads the types that a built package shows to its importers. */
import { readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import ts from "typescript";

/**
 * Every declaration that can be reached from an entry point, by file and name, as text without comments. What a file
 * exports besides is not among them, since `exports` in package.json keeps it from being imported.
 *
 * @param directory The package, as it would be published.
 */
export async function publicTypes(directory: string): Promise<Map<string, string>> {
  const { exports } = JSON.parse(await readFile(join(directory, "package.json"), "utf8"));
  const targets = Object.values<string | { types: string }>(exports);
  const entries = targets.flatMap((target) =>
    typeof target === "string" ? [] : join(directory, target.types)
  );
  // Neither the libraries of the language nor other packages are looked at: a name from there is text
  const program = ts.createProgram(entries, {
    noLib: true,
    types: [],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  });
  return new Reader(program.getTypeChecker(), directory).read(
    entries.map((entry) => program.getSourceFile(entry)),
  );
}

class Reader {
  readonly #found = new Map<string, string>();
  readonly #printer = ts.createPrinter({ removeComments: true });

  constructor(readonly checker: ts.TypeChecker, readonly directory: string) {}

  read(entries: (ts.SourceFile | undefined)[]): Map<string, string> {
    for (const entry of entries) {
      const module = entry && this.checker.getSymbolAtLocation(entry);
      if (!module) throw new Error("An entry point has no declarations");
      const names = this.checker.getExportsOfModule(module);
      this.#found.set(
        this.#path(entry),
        names.map((name) => `${name.name} = ${this.#add(name)}`).sort().join("; "),
      );
    }
    return this.#found;
  }

  /** Adds what a symbol stands for, and gives its name: where it is declared, or which package it is imported from. */
  #add(symbol: ts.Symbol): string {
    const imported = symbol.flags & ts.SymbolFlags.Alias ? this.checker.getAliasedSymbol(symbol) : symbol;
    const declarations = (imported.declarations ?? []).filter((node) => node.getSourceFile());
    const [first] = declarations;
    if (!first) return foreignName(symbol);
    const name = `${this.#path(first.getSourceFile())}#${imported.name}`;
    if (this.#found.has(name) || ts.isSourceFile(first)) return name;
    this.#found.set(name, ""); // it may refer to itself
    const statements = declarations.map(statementOf);
    this.#found.set(name, statements.map((node) => this.#print(node)).join("\n"));
    for (const statement of statements) this.#addReferences(statement);
    return name;
  }

  #addReferences(node: ts.Node): void {
    if (ts.isIdentifier(node)) {
      const symbol = this.checker.getSymbolAtLocation(node);
      if (symbol?.declarations?.some((declaration) => isTopLevel(declaration))) this.#add(symbol);
    }
    ts.forEachChild(node, (child) => this.#addReferences(child));
  }

  #print(node: ts.Node): string {
    return this.#printer.printNode(ts.EmitHint.Unspecified, node, node.getSourceFile())
      .replace(/\s+/g, " ")
      .replace(/(readonly \w+) = (?=["\d])/g, "$1: "); // one type, written in two ways
  }

  #path(file: ts.SourceFile): string {
    return relative(this.directory, file.fileName).replaceAll("\\", "/");
  }
}

/** A name that comes from another package, as `package#name`. */
function foreignName(symbol: ts.Symbol): string {
  for (const node of symbol.declarations ?? []) {
    const statement = ts.findAncestor(
      node,
      (one) => ts.isImportDeclaration(one) || ts.isExportDeclaration(one),
    );
    const specifier = (statement as ts.ImportDeclaration | ts.ExportDeclaration | undefined)?.moduleSpecifier;
    if (specifier && ts.isStringLiteral(specifier)) return `${specifier.text}#${symbol.name}`;
  }
  return symbol.name;
}

/** A variable's declaration is part of a statement. */
function statementOf(node: ts.Node): ts.Node {
  return ts.findAncestor(node, (one) => ts.isStatement(one)) ?? node;
}

/** Whether it is declared or imported for the whole file, unlike a member or a parameter. */
function isTopLevel(node: ts.Node): boolean {
  if (ts.isImportSpecifier(node) || ts.isImportClause(node) || ts.isNamespaceImport(node)) return true;
  return (ts.isStatement(node) || ts.isVariableDeclaration(node)) &&
    ts.isSourceFile(statementOf(node).parent);
}
