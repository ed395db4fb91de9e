"""Ports can be proved against a dump of a torch module, without torch."""

import dataclasses
import json
import pathlib
import textwrap

import numpy as np
import pytest
from jax import lax

from jaxgrad.parity.prove.record.adapters import ProofError
from jaxgrad.parity.prove.record.torch_side import packing
from jaxgrad.parity.prove.record.torch_side.dump import Dumped
from jaxgrad.parity.prove.report import NO_STEP
from jaxgrad.parity.prove.training import Training
from tests.jaxgrad.parity.prove._helpers import python


PORT = textwrap.dedent(
    """
    import jax
    import jax.numpy as jnp
    import numpy as np
    import optax
    from jax import lax

    def net(params, ids, x, *, eps=1e-5, stop=lambda x: x):
        h = params["emb"][ids] + x @ params["fc"]["kernel"] + params["fc"]["bias"]
        mean = h.mean(-1, keepdims=True)
        var = ((h - mean) ** 2).mean(-1, keepdims=True)
        h = (h - mean) * lax.rsqrt(var + eps) * params["norm"]["scale"] + params["norm"]["bias"]
        h = h + stop(jnp.tanh(h)) * params["table"]
        stats = params["stats"]
        h = (h - stats["mean"][:, None]) / jnp.sqrt(stats["var"][:, None] + 1e-5)
        return jax.nn.gelu(h, approximate=False) @ params["emb"].T

    def loss(out, ids, x):
        return jnp.mean(out**2)

    def convert(state):
        get = lambda name: np.asarray(state[name])
        return {
            "emb": get("head.weight"),
            "fc": {"kernel": get("fc.weight").T, "bias": get("fc.bias")},
            "norm": {"scale": get("norm.weight"), "bias": get("norm.bias")},
            "table": get("table"),
            "stats": {"mean": get("bn.running_mean"), "var": get("bn.running_var")},
        }
    """
)


@pytest.fixture(scope="module")
def dumped(tmp_path_factory) -> pathlib.Path:
    """Write dumps of a small net with an embedding, a tied head, norms and a rounded table."""
    import torch
    from torch import nn

    from jaxgrad.parity import dump

    class Net(nn.Module):
        table: torch.Tensor

        def __init__(self):
            super().__init__()
            self.emb = nn.Embedding(9, 6)
            self.fc = nn.Linear(5, 6)
            self.norm = nn.LayerNorm(6)
            self.bn = nn.BatchNorm1d(4, affine=False)
            self.head = nn.Linear(6, 9, bias=False)
            self.head.weight = self.emb.weight
            angle = torch.arange(4)[:, None] / 100.0 ** (torch.arange(6) / 6)
            self.register_buffer("table", torch.cos(angle))

        def forward(self, ids, x):
            h = self.norm(self.emb(ids) + self.fc(x))
            h = self.bn(h + torch.tanh(h) * self.table)
            return self.head(nn.functional.gelu(h))

    folder = tmp_path_factory.mktemp("dumps")
    rng = np.random.default_rng(0)
    inputs = (rng.integers(0, 9, (3, 4)), rng.standard_normal((3, 4, 5)))
    torch.manual_seed(0)
    net = Net().eval()
    net.get_buffer("bn.running_mean").normal_()
    net.get_buffer("bn.running_var").uniform_(0.5, 2)
    dump(net, inputs, folder / "net.npz")
    dump(
        net,
        inputs,
        folder / "steps.npz",
        loss=lambda out, ids, x: (out**2).mean(),
        optimizer=lambda p: torch.optim.AdamW(p, 1e-3, weight_decay=0.1),
        steps=2,
    )
    np.savez(folder / "other.npz", x=np.zeros(3))
    (folder / "text.npz").write_text("not a zip file")
    state = {name: x.numpy() for name, x in net.state_dict().items()}
    np.savez(folder / "state.npz", **state)
    (folder / "port.py").write_text(PORT)
    return folder


@pytest.mark.slow
def test_dumps_are_proved_without_torch(dumped):
    """Without torch a correct port of a dump passes, and bugs and wrong arguments are found."""
    done = python(
        """
import functools, json, os, sys
sys.modules["torch"] = None
os.chdir(sys.argv[1])
sys.path.insert(0, ".")
from port import *
from jaxgrad.parity import prove

params = convert(np.load("state.npz"))
adamw = optax.adamw(1e-3, weight_decay=0.1)
stopped = functools.partial(net, stop=lax.stop_gradient)
steps = dict(loss=(None, loss), steps=2, trainable=["emb", "fc/*", "norm/*"])
reports = [
    prove("net.npz", net, params),
    prove("net.npz", net, weights=convert),
    prove("net.npz", functools.partial(net, eps=1e-6), params),
    prove("net.npz", stopped, params),
    prove("steps.npz", net, params, optimizer=(None, adamw), **steps),
    prove("steps.npz", net, params, optimizer=(None, optax.adam(1e-3)), **steps),
    prove("net.npz", net, params, (np.zeros(3),)),
    prove("net.npz", net, params, loss=(None, loss)),
    prove("net.npz", net, params, outputs=(len, None)),
    prove("net.npz", net, params, optimizer=(None, adamw)),
    prove("steps.npz", net, params, optimizer=(None, adamw), **{**steps, "steps": 3}),
    prove("nowhere.npz", net, params),
    prove("other.npz", net, params),
    prove("text.npz", net, params),
]
print(json.dumps([report.to_dict() for report in reports]))
""",
        str(dumped),
    )
    assert done.returncode == 0, done.stderr
    good, converted, eps, stop, steps, decay, *wrong = json.loads(done.stdout)

    assert good["verdict"] == "pass", good
    assert good["name"].startswith("net.npz | net (port.py:")
    assert good["versions"]["torch"]
    assert any("results are read from net.npz" in note for note in good["notes"])
    assert converted["verdict"] == "pass", converted
    assert (eps["verdict"], eps["first"]["surface"]) == ("fail", "forward"), eps
    assert eps["first"]["torch"] == "norm"
    assert (stop["verdict"], stop["first"]["surface"]) == ("fail", "backward"), stop
    assert "(stop_gradient)" in stop["first"]["jax"]
    assert steps["verdict"] == "pass", steps
    rest = [name for name, s in steps["surfaces"].items() if s["verdict"] != "pass"]
    assert rest == ["backward"] and steps["surfaces"]["backward"]["verdict"] == "not judged", steps
    assert (decay["verdict"], decay["first"]["surface"]) == ("fail", "updates"), decay
    for report, words in zip(
        wrong,
        (
            "the dump net.npz already contains the inputs: leave inputs= out",
            "loss= needs a pair (torch_loss, jax_loss): JAX has a loss, torch has none",
            "use dump(..., outputs=torch_pick)",
            "net.npz contains no optimizer steps: write it with dump(..., optimizer=, steps=)",
            "steps=3, but steps.npz contains 2",
            "the dump 'nowhere.npz' does not exist: write it where torch is installed",
            "'other.npz' is not a dump of jaxgrad",
            "'text.npz' is not a dump of jaxgrad",
        ),
        strict=True,
    ):
        assert report["verdict"] == "error"
        assert words in report["text"], f"no {words!r} in {report['text']!r}"


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("prove(3, abs)", "prove runs the torch module, and torch is not installed; run: pip "
         "install torch. Or write a dump"),
        ("dump(3, (), 'x')", "dump runs the torch module, and torch is not installed; run: pip "
         "install torch"),
    ],
)  # fmt: skip
def test_a_module_needs_torch(call, error):
    """Without torch, running a module raises an error that says what to install."""
    name = call.partition("(")[0]
    done = python(
        f"import sys; sys.modules['torch'] = None; from jaxgrad.parity import {name}; {call}"
    )

    assert f"ModuleNotFoundError: {error}" in done.stderr


def test_a_dump_holds_two_draws_and_the_steps_that_were_asked_for(dumped):
    """Weights and statistics differ between the draws, and a table that torch rounded does not."""
    plain, steps = (Dumped(dumped / f"{name}.npz").contents for name in ("net", "steps"))

    assert (plain.has_loss, steps.has_loss, plain.seed) == (False, True, 0)
    assert (plain.count, steps.count) == (0, 2)
    assert plain.steps is None and steps.steps is not None
    assert sorted(steps.steps.states) == [1, 2]
    assert not plain.state_dtypes and "float32" in set(steps.state_dtypes.values())
    assert plain.rough == ["table"] and len(plain.exact_reruns) == 2
    assert not plain.exact_steps and len(steps.exact_steps) == len(steps.steps.reruns)
    first, second = (d.draw.state for d in plain.drawn)
    equal = {name for name, x in first.items() if np.array_equal(x, second[name])}
    assert equal == {"table", "bn.num_batches_tracked"}
    runs = [run for d in plain.drawn for run in (d.run, *d.reruns)]
    assert all(v.data is None and v.print is not None for run in runs for v in run.values)


def test_a_rounded_buffer_that_the_port_holds_gets_no_allowance(dumped):
    """The reruns with an unperturbed buffer are used if the port takes it from torch."""
    side = Dumped(dumped / "steps.npz")
    contents = side.contents

    assert side.drawn(["emb.weight"])[0].reruns is contents.drawn[0].reruns
    assert side.steps(Training(None), [], 2) is contents.steps
    assert side.drawn(["emb.weight", "table"])[0].reruns is contents.exact_reruns[0]
    assert side.drawn(["table"])[1].reruns is contents.exact_reruns[1]
    assert side.steps(Training(None), [], 2).reruns is contents.exact_steps


def test_a_dump_of_another_format_is_refused(dumped, tmp_path):
    """The error says that another version of jaxgrad wrote the file."""
    contents = Dumped(dumped / "net.npz").contents
    path = tmp_path / "old.npz"
    packing.write(path, dataclasses.replace(contents, format=contents.format - 1))

    with pytest.raises(ProofError, match="is not a dump of jaxgrad: it was written by another"):
        Dumped(path)


def test_a_dump_has_all_that_a_run_leaves_behind(tmp_path):
    """A port without the running statistics fails, and the counter that nothing reads is noted."""
    import jax.numpy as jnp
    import torch
    from torch import nn

    from jaxgrad.parity import dump, prove

    class Averaged(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(3, affine=False)
            self.weight = nn.Parameter(torch.ones(3))
            self.target = nn.Parameter(torch.zeros(3), requires_grad=False)

        def forward(self, x):
            self.target.data.mul_(0.5).add_(self.weight.data, alpha=0.5)
            return self.norm(x) * self.weight * self.target

    def port(p, x):
        norm, target = p["norm"], 0.5 * p["target"] + 0.5 * p["weight"]
        new = {"mean": 0.9 * norm["mean"] + 0.1 * x.mean(0),
               "var": 0.9 * norm["var"] + 0.1 * x.var(0, ddof=1)}  # fmt: skip
        y = (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-5)
        return y * p["weight"] * lax.stop_gradient(target), {"norm": new, "target": target}

    x = np.random.default_rng(0).standard_normal((5, 3))
    dump(Averaged(), (x,), tmp_path / "norm.npz")
    params = {"norm": {"mean": np.zeros(3), "var": np.ones(3)},
              "weight": np.ones(3), "target": np.zeros(3)}  # fmt: skip
    weights = {"norm.running_mean": "norm/mean", "norm.running_var": "norm/var",
               "weight": "weight", "target": "target"}  # fmt: skip

    right = prove(tmp_path / "norm.npz", port, params, has_state=True, weights=weights)
    assert right.verdict == "pass", right
    text = f"1 parameter update and 2 buffer updates agree; {NO_STEP}"
    assert right.surfaces["updates"].text == text
    assert any("not compared: norm.num_batches_tracked" in note for note in right.notes)
    wrong = prove(tmp_path / "norm.npz", lambda p, x: port(p, x)[0], params, weights=weights)
    assert wrong.surfaces["updates"].text == "3 of 3 updates by the forward pass differ"


def test_an_optimizer_takes_one_step_by_default(tmp_path):
    """A module without rounded buffers has one kind of rerun, whatever the port holds."""
    import torch

    from jaxgrad.parity import dump

    path = tmp_path / "layer.npz"
    dump(
        torch.nn.Linear(2, 1),
        (np.ones((3, 2)),),
        path,
        loss=lambda out, x: out.sum(),
        optimizer=lambda p: torch.optim.SGD(p, 0.1),
        seed=3,
    )
    side = Dumped(path)

    assert (side.seed, side.contents.count) == (3, 1)
    assert side.contents.rough == side.contents.exact_reruns == side.contents.exact_steps == []
    assert side.drawn(["weight"]) is side.contents.drawn
    with pytest.raises(ProofError, match="steps=2, but layer.npz contains 1"):
        side.steps(Training(None), [], 2)


def test_an_input_that_cannot_be_written_is_an_error(tmp_path):
    """The error names the type, the file and what inputs may be."""
    import torch

    from jaxgrad.parity import dump

    class Chosen(torch.nn.Module):
        def forward(self, x, names):
            return x * len(names)

    with pytest.raises(ProofError, match="frozenset cannot be written to .*inputs may be arrays"):
        dump(Chosen(), (np.ones(2), frozenset({"a"})), tmp_path / "chosen.npz")
