"""Ports can be proved against a dump of a torch module, without torch."""

import json
import pathlib
import textwrap

import numpy as np
import pytest

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
    assert all(surface["verdict"] == "pass" for surface in steps["surfaces"].values()), steps
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


def test_a_module_needs_torch():
    """Without torch, proving a module raises an error that says what to install."""
    code = (
        "import sys; sys.modules['torch'] = None; from jaxgrad.parity import prove; prove(3, abs)"
    )
    done = python(code)

    assert "torch is not installed; run: pip install torch. Or write a dump" in done.stderr
