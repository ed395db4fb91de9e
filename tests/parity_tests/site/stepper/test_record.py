"""The recorded states are those of plain runs of both programs, without a recorder."""

import collections
import json
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax

import jaxgrad
from parity_tests.runner.settings import ROOT
from parity_tests.site.stepper.frame import numbers
from parity_tests.site.stepper.page import PAGE, page, recorded
from parity_tests.site.stepper.program import STOPS, jax_program, settings, torch_program
from parity_tests.site.stepper.record import ORDER, scenario


SETTINGS = {"&".join(on): on for on in settings()}
SAVED = {"self": "_saved_self", "mat2": "_saved_mat2", "result": "_saved_result"}


DATA = recorded()


def _sides(name, side):
    return [DATA["sides"][step[1 + side]] for step in DATA["scenarios"][name]["steps"]]


def _cells(name, side):
    """Return the last state of one side in the page."""
    cells = {}
    for part in _sides(name, side):
        cells |= part.get("set", {})
        for cell in part.get("gone", ()):
            del cells[cell]
    return cells


def _plain_torch(on):
    """Run torch's script by itself: its variables and the text of its exception."""
    names = {"torch": torch}
    try:
        exec(torch_program(on).script, names)
    except RuntimeError as error:
        return names, str(error)
    return names, ""


def _plain_jax(on):
    """Run JAX's script up to `del vjp`."""
    names = {"jax": jax, "jnp": jnp, "lax": lax, "jaxgrad": jaxgrad}
    exec(jax_program(on).script.replace("del vjp\n", ""), names)
    return names


@pytest.fixture(scope="module")
def plain_jax():
    """The variables of each of JAX's scripts, by the script."""
    programs = {jax_program(on).script: on for on in SETTINGS.values()}
    return {script: _plain_jax(on) for script, on in programs.items()}


def test_every_setting_is_in_the_page():
    """The page has a scenario for every setting, and at most one way to stop the gradient in it."""
    assert list(DATA["scenarios"]) == list(SETTINGS)
    assert f"all {len(SETTINGS)} settings" in (ROOT / "docs" / "stepper.md").read_text()
    assert len(SETTINGS) == 4 * 2**6
    assert all(len({*on} & {*STOPS}) <= 1 for on in SETTINGS.values())


def test_torch_ends_as_a_plain_run_does():
    """In every scenario `.grad`, the values and the exception are those of a plain torch script."""
    for name, on in SETTINGS.items():
        names, message = _plain_torch(on)
        cells = _cells(name, 0)
        errors = [part["error"]["message"] for part in _sides(name, 0) if "error" in part]

        assert errors == [message] * bool(message), name
        for leaf in ("W1", "W2"):
            grad = names[leaf].grad
            assert cells[f"{leaf}.grad"] == (None if grad is None else numbers(grad)), name
            assert cells[f"{leaf}.requires"] == names[leaf].requires_grad, name
        for variable in ("a", "y", "s", "loss"):
            known = f"{variable}.value" in cells
            assert known == (variable in names), (name, variable)
            assert not known or cells[f"{variable}.value"] == numbers(names[variable]), name


def test_saved_tensors_are_freed_and_spoiled_as_in_a_plain_run():
    """A saved tensor that the page shows can be read; one that it calls freed or changed raises."""
    states = set()
    for name, on in SETTINGS.items():
        names, _ = _plain_torch(on)
        cells = _cells(name, 0)
        rows = ["a", "y", "s", "loss"]
        if "h.node" in cells and not {"detach", "in_place"} & {*on}:
            rows.append("h")
        for row in rows:
            node = names[row].grad_fn if row in names else None
            assert (node.name() if node else None) == cells.get(f"{row}.node"), (name, row)
            for entry in cells.get(f"{row}.kept", ()):
                states.add(entry["state"])
                if entry["state"] == "kept":
                    assert numbers(getattr(node, SAVED[entry["as"]])) == entry["value"]
                else:
                    reason = {"freed": "already been freed", "changed": "inplace operation"}
                    with pytest.raises(RuntimeError, match=reason[entry["state"]]):
                        getattr(node, SAVED[entry["as"]])

    assert states == {"kept", "freed", "changed"}


class _Packed:
    """A saved tensor, which dies when torch drops it."""

    def __init__(self, tensor):
        self.tensor = tensor.detach()


def _lifetimes(program):
    """Run torch's script, and yield after each line how many saved tensors of each row live."""
    names, packed, row = {"torch": torch}, [], ""

    def pack(tensor):
        saved = _Packed(tensor)
        packed.append((row, weakref.ref(saved)))
        return saved

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda saved: saved.tensor):
        for line in program.lines:
            row = line.key
            try:
                exec(f"{line.within}\n    {line.text}" if line.within else line.text, names)
            except RuntimeError:
                return
            yield row, collections.Counter(row for row, saved in packed if saved() is not None)


def test_saved_tensors_live_as_long_as_in_a_plain_run():
    """After each line the page shows those saved tensors that live in a run without a recorder."""
    ends = {"1": "1:return", "2": "2:return"}
    compared = collections.Counter()
    for name, on in SETTINGS.items():
        shown, cells = {}, {}
        for (place, *_), part in zip(
            DATA["scenarios"][name]["steps"], _sides(name, 0), strict=True
        ):
            if "error" in part:
                break
            cells |= part.get("set", {})
            kept = {k.partition(".")[0]: v for k, v in cells.items() if k.endswith(".kept")}
            shown[ORDER[place]] = {
                row: living
                for row, entries in kept.items()
                if (living := sum(entry["state"] != "freed" for entry in entries))
            }
        for line, living in _lifetimes(torch_program(on)):
            key = ends.get(line, line)
            if key in shown and "row" in _part(name, key):
                assert shown[key] == living, (name, key)
                compared[key] += 1
        if "detach" in on and "h.node" in cells:
            assert shown["stop"] == {"a": 1}

    assert all(compared[key] for key in ("a", "h", "stop", "in_place", "y", "1:return", "2:return"))


def _part(name, key):
    """Return torch's side of a step."""
    steps = DATA["scenarios"][name]["steps"]
    return DATA["sides"][next(torch for place, torch, _ in steps if ORDER[place] == key)]


def test_jax_ends_as_a_plain_run_does(plain_jax):
    """In every scenario the gradients and the residuals are those of a plain JAX script."""
    for name, on in SETTINGS.items():
        program = jax_program(on)
        names = plain_jax[program.script]
        cells = _cells(name, 1)
        kept = {}
        for part in _sides(name, 1)[:-1]:  # the last step deletes `vjp`
            kept |= {k: v for k, v in part.get("set", {}).items() if k.endswith(".kept")}
        residuals = [str(entry["value"]) for entries in kept.values() for entry in entries]

        assert sorted(residuals) == sorted(
            str(numbers(leaf)) for leaf in jax.tree.leaves(names["vjp"])
        )
        grads = [cells[f"{weight}.grad"] for weight in program.weights]
        assert grads == [numbers(grad) for grad in names["grads"]], name
        assert not any(e["state"] == "kept" for k, v in cells.items() if "kept" in k for e in v)


def test_torch_and_jax_agree_where_torch_does_not_raise():
    """JAX's gradient is torch's, or zeros where torch's is None; both occur."""
    pairs = set()
    for name in SETTINGS:
        if any("error" in part for part in _sides(name, 0)):
            continue
        torch_cells, jax_cells = _cells(name, 0), _cells(name, 1)
        for weight in ("W1", "W2"):
            expected, actual = torch_cells[f"{weight}.grad"], jax_cells.get(f"{weight}.grad")
            if actual is None:
                assert not torch_cells[f"{weight}.requires"]
            elif expected is None:
                assert not np.any(actual)
            else:
                assert expected == actual
            pairs.add((expected is None, actual is None))

    assert pairs == {(False, False), (True, False), (True, True)}


def test_what_is_said_of_jax_where_torch_raises(plain_jax):
    """Without the in-place change JAX's gradients are the same; a hook on a constant never runs."""
    for on in SETTINGS.values():
        names = plain_jax[jax_program(on).script]
        others = tuple(switch for switch in on if switch != "in_place")
        same = zip(names["grads"], plain_jax[jax_program(others).script]["grads"], strict=True)
        assert all(np.array_equal(a, b) for a, b in same)
        if "hook" in on and ({*on} & {*STOPS} or "freeze_W1" in on):
            others = tuple(switch for switch in on if switch != "hook")
            same = zip(names["grads"], plain_jax[jax_program(others).script]["grads"], strict=True)
            assert all(np.array_equal(a, b) for a, b in same)


def test_none_in_jaxgrad_where_the_page_says_so(plain_jax):
    """`jaxgrad.grad` returns None for the weights whose gradient `vjp` returns as zeros."""
    programs = {jax_program(on): name for name, on in SETTINGS.items()}
    said = set()
    for program, name in programs.items():
        names = plain_jax[program.script]
        weights = [names[weight] for weight in program.weights]
        places = tuple(range(len(weights)))
        grads = jaxgrad.grad(names["f"], argnums=places)(*weights) if weights else ()
        none = [w for w, grad in zip(program.weights, grads, strict=True) if grad is None]
        sentence = f"For `{none[0]}` they are zeros; `jaxgrad.grad` would" if none else ""
        returned = [part["say"] for part in _sides(name, 1) if "`vjp` returns" in part["say"]]

        assert none in ([], ["W1"])
        assert all(("zeros" in say) == bool(none) and sentence in say for say in returned), name
        assert returned
        said.add(bool(none))

    assert said == {True, False}


@pytest.mark.parametrize(
    "name", ["", "hook&retain_graph&second_backward", "detach", "freeze_W2&in_place"]
)
def test_the_page_is_current(name):
    """The states in the page are what a recorder reads now, and the rest is what is written now."""
    steps = scenario(*(program(SETTINGS[name]) for program in (torch_program, jax_program)))
    stored = DATA["scenarios"][name]["steps"]

    for (key, *sides), (place, *places) in zip(steps, stored, strict=True):
        assert key == ORDER[place]
        assert [DATA["sides"][p] for p in places] == json.loads(json.dumps(sides)), (
            "run: make pages"
        )
    assert page(DATA) == PAGE.read_text(), "run: make pages"


def test_a_sentence_tells_each_trap():
    """The sentences at the decisive steps are those that a reader is to take away."""

    def said(name, side, part):
        return [p["say"] for p in _sides(name, side) if part in p["say"]]

    assert said("detach", 0, "None") == [
        "`backward()` is done. `W1.grad` is still None: no gradient reached it."
    ]
    assert said("detach", 0, "memory") == [
        "The node of `a` never ran. The variable `a` still holds it, and so its saved `x` is still "
        "in memory."
    ]
    assert said("detach", 0, "dies") == [
        "`detach()` returns the same numbers without a node. The name `h` now means the new "
        "tensor. Nothing holds the old one any more: it dies with its `ReluBackward0`, which frees "
        "the saved `h`."
    ]
    assert said("detach&in_place", 0, "Version 0") == [
        "`h += 1` changes the memory of `h`: its version is now 1. Version 0 was saved for the "
        "`MmBackward0` of `y`."
    ]
    assert said("freeze_W1&retain_graph", 0, "memory") == [
        "`retain_graph=True` left the saved tensors of `y` and `s` in memory."
    ]
    assert said("retain_graph&second_backward", 0, "adds to")[0] == (
        "`AccumulateGrad` adds to `W2.grad`."
    )
    assert said("in_place", 0, "Version 0") == [
        "`h += 1` changes the memory of `h`: its version is now 1. Version 0 was saved for the "
        "`ReluBackward0` of `h` and the `MmBackward0` of `y`."
    ]
    assert said("second_backward", 0, "raises") == [
        "torch raises a `RuntimeError` in `PowBackward0`, the node of `s`."
    ]
    assert said("freeze_W1&freeze_W2", 1, "tuple") == [
        "`vjp` returns an empty tuple: `f` has no arguments."
    ]
