"""Hooks of modules and parameters: forward hooks run in place, backward hooks are jaxgrad's."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from jaxgrad.parity.port.calls.hooks import as_lambda
from jaxgrad.parity.port.expressions import indexing
from jaxgrad.parity.port.ir import UpdateBuffer
from jaxgrad.parity.port.source import param_paths, syntax
from jaxgrad.parity.port.source.annotations import on_statement
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Folded, Items, Module, Tensor, Value, renamed
from jaxgrad.parity.port.values.values import code_of, tensors_in


Forward = Callable[[list[Value]], Value]


def call_hooked(
    module: Module, args: list[Value], forward: Forward, scope: Scope, node: ast.AST
) -> Value:
    """Call a module with its hooks, in torch's order.

    Raises:
        PortError: A hook is of a kind that JAX has no place for.
    """
    real: nn.Module = module.real
    if real._forward_hooks_with_kwargs or real._forward_pre_hooks_with_kwargs:
        raise scope.refuse(
            f"{type(real).__name__} has hooks that take keyword arguments"
            "; pass the arguments by position, and register the hooks without with_kwargs=True",
            node,
        )
    if real._backward_hooks and not real._is_full_backward_hook:
        raise scope.refuse(
            f"{type(real).__name__} has a backward hook that is not a full backward hook; use "
            "register_full_backward_hook",
            node,
        )
    for hook in real._forward_pre_hooks.values():
        given = scope.run.call(Folded(hook), [module, Items(tuple, None, args)], {}, scope, node)
        if given.real is not None:
            args = indexing.iterate(given, scope, node) if isinstance(given, Items) else [given]
    result = forward(args)
    for hook in real._forward_hooks.values():
        passed = [module, Items(tuple, None, args), result]
        answer = scope.run.call(Folded(hook), passed, {}, scope, node)
        if answer.real is not None:
            result = answer
    for hook in real._backward_hooks.values():
        result = _with_backward_hook(module, hook, args, result, scope, node)
    for hook in real._backward_pre_hooks.values():
        result = _with_backward_pre_hook(module, hook, result, scope, node)
    return result


def _with_backward_pre_hook(
    module: Module, hook: Any, result: Value, scope: Scope, node: ast.AST
) -> Value:
    """Return the result of a module whose hook sees the gradient of its output first."""
    if not isinstance(result, Tensor):
        raise scope.refuse(
            "a backward pre-hook on a module with several outputs"
            "; register a hook on each of its outputs",
            node,
        )
    name = scope.fresh("grad")
    grads = Items(tuple, None, [Tensor(torch.ones_like(result.real), syntax.name(name))])
    with scope.block() as body:
        answer = scope.run.call(Folded(hook), [module, grads], {}, scope, node)
    if answer.real is None:
        return result
    if body:
        raise scope.refuse("a backward pre-hook with several statements; write it as one", node)
    new = indexing.iterate(answer, scope, node)[0] if isinstance(answer, Items) else answer
    function = ast.Lambda(syntax.function("_", [name], []).args, code_of(new))
    return Tensor(result.real, syntax.call("jaxgrad.hook", code_of(result), function))


def _with_backward_hook(
    module: Module, hook: Any, args: list[Value], result: Value, scope: Scope, node: ast.AST
) -> Value:
    """Return the result of a module whose hook sees the gradients of its inputs and outputs."""
    if result.code is None:
        raise scope.refuse(
            "a backward hook on a module with several outputs"
            "; register a hook on each of its outputs",
            node,
        )
    inputs = [a for a in args if isinstance(a, Tensor)]
    answer, body = _answer(module, hook, inputs, tensors_in(result), scope, node)
    if answer is None:
        return result
    if body:
        raise scope.refuse("a backward hook with several statements; write it as one", node)
    codes = [code_of(a) for a in inputs]
    marked = syntax.renamed_parts(result.code, [(code, "_") for code in codes])
    named: list[str] = []
    for n in range(len(inputs)):
        named.append(syntax.unique(f"x{n}" if n else "x", {*syntax.names_in(marked), *named}))
    inner = syntax.renamed_parts(result.code, list(zip(codes, named, strict=True)))
    function = ast.Lambda(syntax.function("_", named, []).args, inner)
    hooked: ast.expr = syntax.call("jaxgrad.backward_hook", function, answer)
    if scope.run.classes is None and module.path:
        name = scope.fresh(_label(module.path))
        hooked = scope.assign(name, hooked)
        on_statement(scope.body[-1]).comments = (f"# a full backward hook of `{module.path}`",)
    return renamed(result, ast.Call(hooked, codes, []))


def _label(path: str) -> str:
    """Return a name for a hooked module: `out`, and `layers_0` where its own name is a number."""
    parts = path.split(".")
    return "_".join(parts[-2:] if parts[-1].isdigit() else parts[-1:])


def _answer(
    module: Module,
    hook: Any,
    inputs: list[Tensor],
    outputs: list[Tensor],
    scope: Scope,
    node: ast.AST,
) -> tuple[ast.expr | None, list[ast.stmt]]:
    names = ("grad_inputs", "grad_outputs")
    groups = [
        Items(
            tuple,
            syntax.name(name),
            [
                Tensor(torch.ones_like(t.real), syntax.item(syntax.name(name), n))
                for n, t in enumerate(tensors)
            ],
        )
        for name, tensors in zip(names, (inputs, outputs), strict=True)
    ]
    with scope.block() as body:
        result = scope.run.call(Folded(hook), [module, *groups], {}, scope, node)
    if result.real is None:
        return None, body
    return ast.Lambda(syntax.function("_", names, []).args, code_of(result)), body


def parameter_hooks(scope: Scope, used: set[str], node: ast.AST) -> list[ast.stmt]:
    """Return the statements of the entry that hook parameters where the params come in."""
    statements: list[ast.stmt] = []
    for path, parameter in scope.run.module.named_parameters():
        hooks: Any = parameter._backward_hooks
        if path not in used or not hooks:
            continue
        if scope.run.classes is not None:
            raise PortError(
                f"{path} has a hook, and a flax module has no place where a parameter comes in; "
                'write the port with style="functions"'
            )
        if getattr(parameter, "_post_accumulate_grad_hooks", None):
            raise scope.refuse(
                f"{path} has a hook that runs after its gradient is accumulated"
                "; change the gradient in the training step",
                node,
            )
        place = param_paths.reach(path)
        code: ast.expr = place
        with scope.block() as body:
            for hook in hooks.values():
                function = as_lambda(
                    Folded(hook), [torch.ones_like(parameter)], ["grad"], scope, node
                )
                if function is not None:
                    code = syntax.call("jaxgrad.hook", code, function)
        if code is not place:
            statements += [*body, ast.Assign([syntax.as_target(place)], code)]
            on_statement(statements[-1]).update = UpdateBuffer(hooked=True)
    return statements
