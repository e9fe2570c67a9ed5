/** Finds what may be changed in a source file so that a test should fail. */
import ts from "typescript";

/** One change of a file. */
export interface Mutant {
  /** File, function, kind and text: it stays if something else is edited. */
  readonly id: string;
  readonly file: string;
  /** The function around it, by the name that V8 gives it; empty outside of functions. */
  readonly within: string;
  readonly kind: string;
  /** The whole file, with the change. */
  readonly text: string;
}

/** In an id, of the text that is changed. */
const MOST_CHARACTERS = 70;

const OTHERS: Record<string, string> = {
  ...{ "&&": "||", "||": "&&", "===": "!==", "!==": "===", "<": "<=", "<=": "<", ">": ">=", ">=": ">" },
  ...{ true: "false", false: "true" },
};

/** All mutants of a file, in the order of its text. */
export function mutantsOf(file: string, text: string): Mutant[] {
  const mutants: Mutant[] = [];
  const seen = new Map<string, number>();
  function visit(node: ts.Node, outer: string): void {
    // Types and the names of modules run nothing
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return;
    if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return;
    const within = functionName(node) ?? outer;
    for (const [kind, target, replacement] of changesOf(node)) {
      const shown = target.getText().replace(/\s+/g, " ").slice(0, MOST_CHARACTERS);
      const name = `${file} ${within || "(module)"}: ${kind}: ${shown}`;
      const times = (seen.get(name) ?? 0) + 1;
      seen.set(name, times);
      const id = times === 1 ? name : `${name} (${times})`;
      const changed = text.slice(0, target.getStart()) + replacement + text.slice(target.end);
      mutants.push({ id, file, within, kind, text: changed });
    }
    ts.forEachChild(node, (child) => visit(child, within));
  }
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true), "");
  return mutants;
}

function* changesOf(node: ts.Node): Generator<readonly [kind: string, target: ts.Node, replacement: string]> {
  const condition = conditionOf(node), returned = returnedBy(node);
  if (condition) yield ["condition negated", condition, `!(${condition.getText()})`];
  if (returned) yield ["undefined returned", returned, "(undefined as never)"];
  if (ts.isAwaitExpression(node) && !isReturned(node)) {
    yield ["await dropped", node, node.expression.getText()];
  } else if (ts.isSpreadAssignment(node)) yield ["spread dropped", node, "...{}"];
  else if (ts.isSpreadElement(node)) yield ["spread dropped", node, "...[]"];
  else if (ts.isExpressionStatement(node) || ts.isThrowStatement(node)) {
    yield ["statement removed", node, ";"];
  } else if (ts.isNumericLiteral(node)) yield ["number changed", node, otherNumber(Number(node.text))];
  else if (ts.isStringLiteral(node) && isValue(node)) yield ["string emptied", node, '""'];
  else if (node.kind === ts.SyntaxKind.TrueKeyword || node.kind === ts.SyntaxKind.FalseKeyword) {
    yield ["boolean changed", node, OTHERS[node.getText()]!];
  } else if (ts.isBinaryExpression(node)) {
    const [left, operator, right] = [node.left, node.operatorToken, node.right].map((each) => each.getText());
    // In parentheses, since `??` and `||` do not mix
    if (operator === "??") yield ["?? dropped", node, left!];
    else if (operator! in OTHERS) {
      yield ["operator changed", node, `((${left}) ${OTHERS[operator!]} (${right}))`];
    }
  }
}

function conditionOf(node: ts.Node): ts.Expression | undefined {
  if (ts.isConditionalExpression(node)) return node.condition;
  return ts.isIfStatement(node) || ts.isWhileStatement(node) ? node.expression : undefined;
}

/** What a function gives here, unless `undefined` would be the same for most who ask. */
function returnedBy(node: ts.Node): ts.Node | undefined {
  const given = ts.isReturnStatement(node) ? node.expression : ts.isArrowFunction(node) ? node.body : undefined;
  if (given === undefined || ts.isBlock(given) || ts.isVoidExpression(given)) return undefined;
  return /^(?:undefined|null|false)$/.test(given.getText()) ? undefined : given;
}

/** Whether its caller waits for the promise anyway. */
function isReturned(node: ts.AwaitExpression): boolean {
  if (!ts.isReturnStatement(node.parent)) return ts.isArrowFunction(node.parent);
  return !ts.isTryStatement(
    ts.findAncestor(node, (each) => ts.isTryStatement(each) || ts.isFunctionLike(each))!,
  );
}

const otherNumber = (value: number) => value === 0 || value > 1 && value < 10 ? `${value + 1}` : "0";

/** Not a name, and not a text for people: those have spaces. */
function isValue(node: ts.StringLiteral): boolean {
  const isName = ts.isPropertyAssignment(node.parent) && node.parent.name === node;
  return node.text !== "" && !node.text.includes(" ") && !isName;
}

function functionName(node: ts.Node): string | undefined {
  if (ts.isConstructorDeclaration(node)) return node.parent.name?.text;
  if (ts.isGetAccessor(node)) return `get ${node.name.getText()}`;
  if (ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node)) return node.name?.getText();
  const { parent } = node;
  const isNamed = ts.isArrowFunction(node) &&
    (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent));
  return isNamed ? parent.name.getText() : undefined;
}
