"""Write a slice that is not an index, such as one in a list, as a call of `slice`."""

from __future__ import annotations

import ast

from jaxgrad.parity.port.source.syntax import call, constant


def with_slice_calls(statement: ast.stmt) -> ast.stmt:
    """Write each `a:b` outside of an index as `slice(a, b)`."""
    return _SliceCalls().visit(statement)


class _SliceCalls(ast.NodeTransformer):
    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        node.value = self.visit(node.value)
        key = node.slice
        for part in key.elts if isinstance(key, ast.Tuple) else [key]:
            self.generic_visit(part)
        return node

    def visit_Slice(self, node: ast.Slice) -> ast.AST:
        self.generic_visit(node)
        bounds = [node.lower, node.upper, *([node.step] if node.step is not None else [])]
        return call("slice", *(constant(None) if x is None else x for x in bounds))
