"""Faults of the emitter of `jaxgrad.port`, each with a small module that shows it."""

from __future__ import annotations

import ast
import dataclasses

import jax

from jaxgrad.parity.port.calls import hooks, inner_gradients, inplace
from jaxgrad.parity.port.expressions import attributes, conditions, operators
from jaxgrad.parity.port.functions import context_managers, functions
from jaxgrad.parity.port.interpretation import interpretation
from jaxgrad.parity.port.loops import loop_statements
from jaxgrad.parity.port.modes import mode_expressions
from jaxgrad.parity.port.modules import module_hooks, recurrent_modules
from jaxgrad.parity.port.rules import functional
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.statements import assignments, branches, regions
from jaxgrad.parity.port.values import binding, draws, state
from jaxgrad.parity.port.values.params import Layout
from jaxgrad.parity.port.values.value_types import Folded
from parity_tests.audits.emitter_plants import (
    Plant,
    adding,
    after,
    argument,
    backward_method,
    called,
    clip_of_jnp,
    default_numbers,
    first_key,
    fixed_sizes,
    instead,
    lacking,
    lost_write,
    max_of_jnp,
    merging_copies,
    other_arms,
    own_operator,
    passes_gradient,
    replaced,
    reverse,
    reverses_gradients,
    rewritten,
    stop,
    swapped,
    swapped_twins,
    with_axis,
    without_autocast,
    without_text,
)


@dataclasses.dataclass(frozen=True)
class Fault:
    """A fault of the emitter.

    Attributes:
        name: Its name, in words joined by underscores.
        on: The module of `parity_tests.port_collection` on which it is tried.
        plant: Returns the context in which the emitter has the fault.
        unseen: Why no proof can find it, if none can.
    """

    name: str
    on: str
    plant: Plant
    unseen: str = ""


AT_A_KINK = "the gradient differs at a tie or a bound alone, where rounding decides it in torch too"


FAULTS: tuple[Fault, ...] = (
    # operators
    Fault("permute_reversed", "shapes", rewritten("permute", reverse)),
    Fault("transpose_dropped", "shapes", rewritten("transpose", lambda c: c.func.value)),
    Fault("cat_axis", "shapes", rewritten("cat", with_axis(0))),
    Fault("stack_axis", "shapes", rewritten("stack", with_axis(0))),
    Fault("unbind_axis", "shapes", rewritten("unbind", with_axis(0))),
    Fault(
        "tril_diagonal_lost",
        "shapes",
        rewritten("tril", lambda c: ast.Call(c.func, c.args[:1], [])),
    ),
    Fault("t_dropped", "shapes", rewritten("t", lambda c: c.value)),
    Fault(
        "repeat_interleaved",
        "shapes",
        rewritten(
            "repeat",
            lambda c: syntax.call(
                "jnp.repeat", c.args[0], syntax.literal(2), axis=syntax.literal(1)
            ),
        ),
    ),
    Fault("softmax_axis", "reductions", rewritten("softmax", with_axis(1))),
    Fault("log_softmax_axis", "reductions", rewritten("log_softmax", with_axis(0))),
    Fault(
        "log_softmax_for_softmax", "reductions", rewritten("softmax", called("jax.nn.log_softmax"))
    ),
    Fault("sum_axis", "reductions", rewritten("sum", with_axis(0))),
    Fault(
        "mean_as_sum",
        "reductions",
        rewritten(
            "mean", lambda c: ast.Call(syntax.attribute(c.func.value, "sum"), [], c.keywords)
        ),
    ),
    Fault("cumsum_axis", "reductions", rewritten("cumsum", with_axis(0))),
    Fault("where_swapped", "choices", rewritten("where", swapped(1, 2))),
    Fault("masked_fill_swapped", "choices", rewritten("masked_fill", swapped(1, 2))),
    Fault("einsum_operands_swapped", "choices", rewritten("einsum", swapped(1, 2))),
    Fault("alpha_lost", "choices", rewritten("sub", lacking("alpha"))),
    Fault("clone_stops", "choices", rewritten("clone", stop)),
    Fault("max_of_jnp", "ties", rewritten("max", max_of_jnp), AT_A_KINK),
    Fault("clamp_of_jnp", "clamp", rewritten("clamp", clip_of_jnp), AT_A_KINK),
    Fault(
        "norm_of_jnp",
        "zero_norm",
        rewritten(
            "norm", lambda c: syntax.call("jnp.linalg.norm", c.args[0], axis=syntax.literal(-1))
        ),
    ),
    Fault("sub_reversed", "reductions", own_operator(ast.Sub, reverse)),
    Fault("div_reversed", "shapes", own_operator(ast.Div, reverse)),
    Fault("matmul_reversed", "choices", own_operator(ast.MatMult, reverse)),
    Fault("power_dropped", "reductions", own_operator(ast.Pow, lambda c: getattr(c, "left", c))),
    Fault(
        "comparison_flipped",
        "threshold",
        replaced(
            operators, "compare", lambda original: lambda op, *rest: original(ast.LtE(), *rest)
        ),
    ),
    Fault("cast_dropped", "casts", rewritten("to", lambda c: c.func.value)),
    Fault("minus_dropped", "gradient_reversal", rewritten("neg", lambda c: c.operand)),
    # options and sizes
    Fault(
        "options_at_their_defaults",
        "options",
        replaced(functional, "_is_default", default_numbers),
    ),
    Fault("dropout_probability_lost", "options", rewritten("dropout", lacking("p"))),
    Fault("sizes_folded", "sizes", replaced(attributes, "_of_tensor", fixed_sizes)),
    # stopped gradients
    Fault("detach_dropped", "detach", rewritten("detach", argument)),
    Fault("detach_dropped_in_where", "where", rewritten("detach", argument)),
    Fault(
        "no_grad_dropped", "no_grad", replaced(binding, "stopped", instead(lambda _, code: code))
    ),
    Fault(
        "no_grad_on_results_dropped",
        "no_grad_decorator",
        replaced(context_managers, "stop_all", instead(lambda value: value)),
    ),
    # hooks
    Fault(
        "hook_dropped",
        "tensor_hook",
        replaced(hooks, "register_hook", instead(lambda *_: Folded(None))),
    ),
    Fault(
        "hook_run_twice",
        "tensor_hook_scale",
        replaced(hooks, "register_hook", lambda f: lambda *args: (f(*args), f(*args))[1]),
    ),
    Fault(
        "parameter_hook_dropped",
        "parameter_hook",
        replaced(module_hooks, "parameter_hooks", instead(lambda *_: [])),
    ),
    Fault(
        "parameter_hook_run_twice",
        "parameter_hook",
        replaced(module_hooks, "parameter_hooks", after(lambda found: [*found, *found])),
    ),
    Fault(
        "module_hook_dropped",
        "module_hook",
        replaced(module_hooks, "_with_backward_hook", instead(lambda m, h, a, result, *_: result)),
    ),
    Fault(
        "forward_hook_dropped",
        "forward_hook",
        replaced(
            module_hooks, "call_hooked", instead(lambda module, args, forward, *_: forward(args))
        ),
    ),
    # autograd.Function and autograd.grad
    Fault("backward_ignored", "custom_function", backward_method(passes_gradient)),
    Fault("reversal_lost", "gradient_reversal", backward_method(passes_gradient)),
    Fault("gradients_swapped", "product", backward_method(reverses_gradients)),
    Fault("create_graph_lost", "penalty", replaced(inner_gradients, "_gradient", after(stop))),
    Fault(
        "cotangent_lost",
        "pulled",
        replaced(
            inner_gradients,
            "_gradient",
            lambda f: (
                lambda label, names, output, _, summed: f(
                    label, names, output, Folded(None), summed=summed
                )
            ),
        ),
    ),
    # changes in place
    Fault("change_in_place_lost", "in_place", replaced(inplace, "write", instead(lost_write))),
    Fault("change_of_a_view_lost", "view", replaced(inplace, "write", instead(lost_write))),
    Fault("change_of_a_view_added", "view", replaced(inplace, "replaced", adding)),
    Fault("mask_swapped", "masked_assignment", replaced(inplace, "_where", after(swapped(1, 2)))),
    Fault(
        "augmented_operator_lost",
        "accumulate",
        replaced(inplace, "augmented", instead(lambda *_: None)),
    ),
    # buffers, params and modes
    Fault("buffer_lost", "buffer", replaced(state, "store", instead(lambda *_: None))),
    Fault("statistics_lost", "batch_norm", replaced(state, "store", instead(lambda *_: None))),
    Fault("ties_lost", "tied_weights", replaced(Layout, "ties", instead(lambda _: {}))),
    Fault(
        "frozen_trained",
        "frozen",
        replaced(Layout, "trainable", after(lambda tree: jax.tree.map(lambda _: True, tree))),
    ),
    Fault("weights_swapped", "twins", replaced(Layout, "params", swapped_twins)),
    Fault(
        "eval_mode_lost",
        "dropout",
        replaced(interpretation, "merge_modes", instead(lambda train, _: train)),
    ),
    Fault(
        "modes_swapped",
        "mode",
        replaced(
            mode_expressions, "choice", lambda f: lambda train, evaluated: f(evaluated, train)
        ),
    ),
    Fault(
        "mode_merged_too_far",
        "mode",
        replaced(mode_expressions, "choice", instead(lambda train, _: train)),
    ),
    Fault("keys_shared", "two_dropouts", replaced(draws, "name_keys", first_key)),
    Fault("autocast_dropped", "autocast", replaced(regions, "autocast", instead(without_autocast))),
    # control flow
    Fault(
        "turns_reversed",
        "unlike",
        replaced(loop_statements, "iterations", after(lambda found: found[::-1])),
    ),
    Fault(
        "unlike_turns_merged",
        "unlike",
        replaced(loop_statements, "_are_alike", instead(lambda *_: True)),
    ),
    Fault("copies_merged", "constants", replaced(functions, "add", merging_copies)),
    Fault("arms_swapped", "branch", replaced(branches, "_cond", other_arms)),
    Fault(
        "branch_folded", "branch", replaced(conditions, "is_fixed_test", instead(lambda _: True))
    ),
    Fault(
        "late_binding_lost",
        "nested",
        replaced(
            assignments,
            "bind",
            lambda f: (
                lambda name, value, scope: (
                    value
                    if name in scope.values and isinstance(value, Folded)
                    else f(name, value, scope)
                )
            ),
        ),
    ),
    # recurrent modules
    Fault(
        "direction_lost",
        "recurrent",
        replaced(recurrent_modules, "_body", without_text(", reverse=True")),
    ),
    Fault(
        "batch_first_lost",
        "recurrent",
        replaced(recurrent_modules, "_body", without_text("x = x.swapaxes(0, 1)", "x = x")),
    ),
)
