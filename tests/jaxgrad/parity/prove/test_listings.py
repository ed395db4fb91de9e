"""A report shows the source of both programs, with the lines that its finding names."""

import functools
import importlib.util
import inspect
import json
import warnings
from typing import Any

import jax
import numpy as np
import optax
import torch
from torch import nn

from jaxgrad.parity import Report, Training, prove
from jaxgrad.parity.prove import listings
from jaxgrad.parity.prove.listings import LINES, Listing, of_jax, of_torch
from jaxgrad.parity.prove.report import render


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
        self.scale = nn.Parameter(torch.ones(2))

    def forward(self, x):
        h = self.inner(x)
        return h * self.scale


START = inspect.getsourcelines(Net.forward)[1]


def test_the_line_of_a_torch_call_is_marked_in_its_function():
    """The line that torch's call was recorded at is marked within `forward`."""
    listing = of_torch(Net(), "inner.0", f"test_listings.py:{START + 2}")

    assert listing is not None
    assert (listing.file, listing.start) == ("test_listings.py", START)
    assert listing.lines[-1].strip() == "return h * self.scale"
    assert listing.marked == (START + 2,)


def test_without_a_line_the_uses_of_a_module_or_parameter_are_marked():
    """The innermost class that torch did not write is shown; its attribute is marked."""
    for name, line in (("inner.0.weight", START + 1), ("scale", START + 2)):
        listing = of_torch(Net(), name)
        assert listing is not None and listing.marked == (line,)
    unmarked = of_torch(Net())
    assert unmarked is not None and unmarked.marked == () and len(unmarked.lines) == 3


def test_a_module_of_torch_is_printed_with_its_submodule_marked():
    """A Sequential of layers has no source of the user, so its printed form is shown."""
    module = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Tanh(), nn.LayerNorm(2)), nn.ReLU())
    listing = of_torch(module, "1.1")

    assert listing is not None and listing.file == ""
    marked = [line.strip() for n, line in enumerate(listing.lines, 1) if n in listing.marked]
    assert len(marked) == 1 and marked[0].startswith("(1): LayerNorm")
    after = of_torch(module, "2")
    assert after is not None and after.lines[after.marked[0] - 1].strip() == "(2): ReLU()"
    whole = of_torch(nn.Linear(2, 2), "weight")
    assert whole is not None and (whole.lines, whole.marked) == ((str(nn.Linear(2, 2)),), ())


def test_a_module_that_cannot_be_printed_has_no_listing():
    """An exception in a submodule's own `__repr__` does not reach the proof."""

    class Silent(nn.Module):
        def __repr__(self):
            raise RuntimeError("no")

    assert of_torch(nn.Sequential(Silent()), "0") is None


def test_a_scripted_module_is_printed():
    """The class of a scripted module has no `forward`, and its own layers are marked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = torch.jit.script(nn.Sequential(nn.Linear(2, 2), nn.Tanh()))
    listing = of_torch(module, "1", "net.py:3")

    assert listing is not None and "(1): " in listing.lines[listing.marked[0] - 1]


def test_the_jax_function_is_shown_through_its_wrappers():
    """The source of a wrapped function and of a callable object is found."""

    def port(params, x):
        return x @ params["w"]

    @functools.wraps(port)
    def wrapped(*args):
        return port(*args)

    class Model:
        def __call__(self, x):
            return x

    for fn, first in ((port, "def port"), (wrapped, "def port"), (Model(), "def __call__")):
        listing = of_jax(fn)
        assert listing is not None and listing.lines[0].strip().startswith(first)


def test_what_has_no_source_has_no_listing():
    """A function of a session, a builtin and a missing module have no listing."""
    names: dict = {"nn": nn}
    exec("def f(p, x): return x\nclass M(nn.Module):\n  def forward(self, x): return x", names)

    assert of_jax(names["f"]) is None and of_jax(np.sin) is None and of_jax(3) is None
    assert of_torch(names["M"]()) is None and of_torch(None) is None


def test_a_file_that_is_not_python_has_no_listing(tmp_path):
    """Code that was compiled under the name of a document has a line, but no readable source."""
    path = tmp_path / "notes.md"
    path.write_text("# Notes\n\nnot a Python file\n")
    names: dict = {"nn": nn}
    code = (
        "class M(nn.Module):\n  def forward(self, x):\n    return x\ndef f(p, x):\n  return x * 2"
    )
    exec(compile(code, str(path), "exec"), names)
    equations = jax.make_jaxpr(names["f"])(1.0, 2.0).eqns

    assert of_jax(names["f"], equations, "notes.md:5") is None
    assert of_torch(names["M"](), "", "notes.md:3") is None


def test_a_long_function_is_cut_around_the_marked_line():
    """At most `LINES` lines are shown, and the marked one is among them."""
    numbers = list(range(1, 101))
    first, cut = (listings._cut(__file__, numbers, marked) for marked in ((), (60,)))
    assert first is not None and cut is not None and len(first.lines) == LINES
    assert cut.start <= 60 < cut.start + len(cut.lines) and len(cut.lines) == LINES


def test_the_lines_of_a_cause_are_marked_too():
    """A text marks the lines of its own file that are shown, and no others."""
    listing = Listing("net.py", 10, ("a", "b", "c"), (12,))
    assert listing.marking("stops at net.py:10, not at subnet.py:11 or net.py:99").marked == (
        10,
        12,
    )
    assert Listing("", 1, ("Sequential",)).marking("net.py:1").marked == ()


def layer(params, x):
    return x @ params["w"]


def port(params, x):
    return layer(params, layer(params, x))


def test_the_functions_that_a_port_calls_and_the_class_of_a_module_are_shown():
    """A short listing is extended to what it calls in the same file; a long one is not."""
    w = np.ones((2, 2))
    equations = jax.make_jaxpr(port)({"w": w}, w).eqns
    alone = of_jax(port)
    whole = listings.with_callees(alone, equations)
    assert alone is not None and whole is not None and alone.lines[0].startswith("def port")
    assert whole.lines[0].startswith("def layer") and whole.lines[-2:] == alone.lines

    forward = of_torch(Net(), "scale")
    whole = listings.with_class(forward, Net())
    assert forward is not None and whole is not None and whole.marked == forward.marked
    assert whole.lines[0].startswith("class Net") and whole.lines[-3:] == forward.lines
    assert listings._widened(forward, __file__, [START + LINES]) == forward
    assert listings.with_callees(None, equations) is listings.with_class(None, Net()) is None


def scaled(x):
    return 2 * shifted(x)


def shifted(x):
    return x + 1


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Net(), Net()])

    def forward(self, x):
        return self.halved(scaled(self.layers[1](self.layers[0](x))))

    def halved(self, x):
        return x / 2


def test_the_functions_that_a_torch_module_calls_are_found():
    """They are the forward methods of its submodules, and the functions and methods in them."""
    shown = of_torch(Scaled())
    names = ["layers.0", "layers.0.inner", "layers.1"]
    found = listings.called_by_torch(Scaled(), names, shown)
    heads = [each.lines[0].strip() for each in found]
    assert sorted(heads) == [
        "def forward(self, x):", "def halved(self, x):", "def scaled(x):", "def shifted(x):"
    ]  # fmt: skip
    assert START in [each.start for each in found]
    assert listings.called_by_torch(None, [], shown) == ()


def transposed(x):
    return x.T


def test_the_functions_that_a_trace_passes_through_are_found():
    """A function is listed once, without the code that calls `prove`."""
    module = nn.Linear(2, 2, bias=False)
    params = {"weight": module.weight.detach().numpy()}
    report = prove(module, calling, params, (np.ones((3, 2)),))
    assert report.listings["jax"].lines[0] == "def calling(p, x):"
    assert [each.lines[0] for each in report.functions["jax"]] == ["def transposed(x):"]
    read = Report.from_dict(json.loads(report.to_json()))
    assert read.functions == report.functions


def make_optimizer(params):
    return torch.optim.SGD(params, lr=0.1)


def make_scheduler(optimizer):
    return torch.optim.lr_scheduler.StepLR(optimizer, 2)


def halved(step):
    return 0.1 * 0.5**step


def test_a_wrong_update_shows_the_optimizers_and_no_line_of_forward():
    """The programs are torch's factories and the port's schedule; nothing of `forward` is shown."""
    net = Net()
    params = {name: p.detach().numpy() for name, p in net.state_dict().items()}

    def port(p, x):
        h = jax.numpy.tanh(x @ p["inner.0.weight"].T + p["inner.0.bias"])
        return h * p["scale"]

    for tx, schedule, jax_lines in (
        (optax.sgd(halved), halved, ["def halved(step):", "    return 0.1 * 0.5**step"]),
        (optax.sgd(0.3), None, None),
    ):
        training = Training(make_optimizer, tx, scheduler=make_scheduler, schedule=schedule)
        report = prove(net, port, params, (np.ones((3, 2)),), optimizer=training)
        assert report.first is not None and report.first.surface == "updates"
        torch_lines = report.listings["torch"].lines
        assert torch_lines[0] == "def make_optimizer(params):"
        assert torch_lines[-1].strip() == "return torch.optim.lr_scheduler.StepLR(optimizer, 2)"
        shown = report.listings.get("jax")
        assert (shown and list(shown.lines)) == jax_lines
        assert not any(listing.marked for listing in report.listings.values())
        html = render([report])
        assert "the programs of the update" in html and "<mark>" not in html


def test_the_line_that_calls_a_helper_is_shown():
    """The helper's line is right for its other callers, so the reader mends the line that calls."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

        def forward(self, x):
            return self.b(torch.tanh(self.a(x)))

    def port(p, x):
        h = np_linear(p, "a", x)
        return np_linear(p, "b", h)

    module = Net()
    params = {name: x.detach().numpy() for name, x in module.state_dict().items()}
    report = prove(module, port, params, (np.ones((2, 3)) + np.eye(3)[:2],))
    listing = report.listings["jax"]
    line = port.__code__.co_firstlineno

    assert report.first is not None and f"called from test_listings.py:{line + 2}" in str(report)
    assert line + 2 in listing.marked
    assert listing.lines[line + 2 - listing.start].strip() == 'return np_linear(p, "b", h)'


def np_linear(p, name, x):
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def test_the_line_of_a_long_helper_is_shown_without_its_caller(tmp_path):
    """Both functions together are too long, and the line that a report names must be in it."""
    lines = "\n".join(f"    x = x + {n}.0 * 0" for n in range(30))
    text = (
        "import jax.numpy as jnp\n\n\n"
        f"def helper(x):\n{lines}\n    return jnp.sin(x)\n\n\n"
        f"def port(p, x):\n{lines}\n    x = x @ p['weight'].T\n"
        "    once = helper(x)\n    return once - helper(3 * x)\n"
    )
    path = tmp_path / "long_port.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("long_port", path)
    assert spec is not None and spec.loader is not None
    file: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(file)

    class Model(nn.Linear):
        def forward(self, input):
            x = super().forward(input)
            return torch.tanh(x) - torch.tanh(3 * x)

    module = Model(3, 2, bias=False)
    params = {"weight": module.weight.detach().numpy()}
    report = prove(module, file.port, params, (np.ones((2, 3)),))
    assert report.first is not None
    place, _, caller = report.first.jax.partition(" (")[0].partition(", called from ")
    assert caller
    assert place.startswith("long_port.py:") and report.listings["jax"].has(place)
    assert int(place.rpartition(":")[2]) in report.listings["jax"].marked


def calling(p, x):
    return x @ transposed(transposed(transposed(p["weight"])))
