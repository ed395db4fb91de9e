"""The programs that a benchmark row compares do the same step; the results page is current."""

import argparse
import json
import re
import statistics
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

import jaxgrad
from benchmarks import (
    claims,
    compiled,
    functional,
    growth,
    optimizers,
    pairs,
    ports,
    proof_cost,
    proven,
    results,
    steps,
    suite,
    written,
)
from benchmarks.__main__ import HERE, ON_REQUEST, SECTIONS, use_device
from benchmarks.__main__ import main as benchmarks_main
from benchmarks.behaviours import BEHAVIOURS
from benchmarks.interleaved import over, rounds
from benchmarks.networks import NETWORKS, mlp, mobilenet, transformer
from benchmarks.steps import jax_step, one_process, torch_step
from parity_tests.ports import lstm
from tests._browser import problems


SMALL = {
    "MLP": lambda: mlp(depth=4, width=8, batch=8),
    "transformer": lambda: transformer(depth=2, width=8, batch=4, sequence=4, heads=2),
}


@pytest.fixture(autouse=True)
def single():
    """Run the test in float32, as the benchmarks do."""
    with jax.enable_x64(False):
        yield


@pytest.mark.sampled(2)
@pytest.mark.parametrize("network", [*SMALL, pytest.param("MobileNetV2", marks=pytest.mark.slow)])
def test_the_stages_of_a_network_agree(network):
    """Each JAX stage of a network gives the output of torch's stage for the same input."""
    net = SMALL[network]() if network in SMALL else mobilenet(batch=4, size=32)
    modules, params = net.built()
    x, shapes = torch.tensor(net.x), set()
    for module, stage, p in zip(modules.train(), net.stages, params, strict=True):
        given, x = x, module(x).detach()
        shape = given.shape[1:], x.shape[1:]
        if shape in shapes or len(shapes) == 4:  # limit the number of compiled programs
            continue
        shapes.add(shape)
        # JAX's image networks have channels last between their stages.
        given = given.movedim(1, -1) if given.ndim == 4 and module is not modules[0] else given
        out = np.asarray(stage(p, jnp.asarray(given.numpy()), jnp.float32))
        out = np.moveaxis(out, -1, 1) if out.ndim == 4 else out
        assert np.allclose(out, x.numpy(), rtol=1e-4, atol=1e-4)
    assert len(shapes) > 1


@pytest.mark.sampled(13)
@pytest.mark.parametrize(
    ("network", "name"), [("transformer", "control"), *(("MLP", name) for name in BEHAVIOURS)]
)
def test_the_steps_of_a_behaviour_agree(network, name):
    """A hand-written JAX step, a jaxgrad step and a torch step give the same parameters."""
    net, behaviour = SMALL[network](), BEHAVIOURS[name]()
    _, params = net.built()
    with one_process():
        truth = [p.detach().numpy() for p in torch_step(net, behaviour)()]
    ours = jax_step(net, params, behaviour.with_jaxgrad(net), jaxgrad.optim.sgd(1e-2))()[1][0]
    hand = jax_step(net, params, behaviour.by_hand(net), optax.sgd(1e-2))()[1][0]
    before = [p[k] for p, module in zip(params, net.modules(), strict=True) for k in _names(module)]
    wanted = [t - np.asarray(b) for t, b in zip(truth, before, strict=True)]
    scale = max(np.abs(w).max() for w in wanted)
    # Each compiler rounds a sum of bfloat16 products at different points.
    close = (0.05 if name == "amp" else 1e-3) * scale
    for new_params in (ours, hand):
        after = [
            p[k]
            for p, module in zip(new_params, net.modules(), strict=True)
            for k in _names(module)
        ]
        for new, old, want in zip(after, before, wanted, strict=True):
            assert np.abs(np.asarray(new) - np.asarray(old) - want).max() <= close
    assert scale > 1e-5


def _names(module):
    return [name for name, _ in module.named_parameters()]


@pytest.mark.sampled(15)
@pytest.mark.parametrize("name", functional.ROWS)
def test_a_convention_costs_nothing(name):
    """An operator with torch's gradient costs as much as the usual JAX form, or states a reason."""
    row = functional.ROWS[name]
    operator, jax_form = (functional.counts(fun, *row.args) for fun in (row.operator, row.jax_form))

    more = max(operator.bytes / jax_form.bytes, operator.flops / max(jax_form.flops, 1.0))
    assert more <= functional.BOUND if not row.why else more > functional.BOUND


def test_rounds_take_turns():
    """Each program runs once per round, at varying positions; slow programs have three rounds."""
    order = []
    runs = {name: (lambda name=name: order.append(name)) for name in "abc"}
    times_of = rounds(runs, budget=0.0, at_least=12)

    assert {len(times) for times in times_of.values()} == {12}
    firsts = order[3::3]
    assert set(firsts) == set("abc")
    slow = rounds(runs, budget=0.0, limit=0.0)
    assert {len(times) for times in slow.values()} == {3}
    assert over({"a": [1.0, 9.0, 2.0], "b": [2.0, 3.0, 1.0]}, "a", "b") == 2.0


def test_slopes():
    """The log-log slope of a multiple of n**2 is 2."""
    sizes = (1, 2, 4, 8, 16, 32)

    assert growth.slope(sizes, [3.0 * n**2 for n in sizes]) == pytest.approx(2.0)


def test_the_peak_memory_is_that_of_the_program_itself():
    """A process begins with `ru_maxrss` of the process that started it, which may be larger."""
    large = np.ones(10**8)
    script = "from benchmarks.proving import peak; print(peak())"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=HERE.parent, capture_output=True, text=True, check=True
    )
    assert 10**7 < int(done.stdout) < large.nbytes


def test_the_waits_of_the_suite_are_beside_their_bars():
    waits = dict(zip(suite.BARS, (138.04, 66.0, 5.0, 1.6), strict=True))
    half = {"cells": 8, "wall": 2.0, "seconds": 1.0, "first": 1.0, "compiled": 0.5}
    whole = half | {"cells": 16, "wall": 4.0, "seconds": 2.0}
    rows = [{"cold": half, "warm": half}, {"cold": whole, "warm": whole}]
    lines = list(suite.markdown({"rows": rows, "waits": waits}))
    assert "| 16 | 2.00 | 50% | 2.00 | 1.00 |" in lines
    assert any("run grow as (number of cells)^1.00" in line for line in lines)
    assert "| the whole grid, empty cache | 150 s | 138.0 s |" in lines
    assert "| one case by name, filled cache | 2.5 s | 1.6 s |" in lines


def test_checkpointing_is_sublinear_in_depth():
    """With segments of sqrt(depth) layers, 16 times the depth saves about 4 times the bytes."""
    kept = [
        growth.peak_bytes(net, net.built()[1])
        for net in (mlp(depth=n, width=16, batch=8) for n in (4, 64))
    ]

    assert kept[1] < 8 * kept[0]


@pytest.mark.slow
def test_deeper_networks_come_closer_to_the_root_of_the_depth():
    """Over 16 to 256 layers the exponent of saved memory is the one that the pages state."""
    nets = [mlp(depth=n, width=128, batch=64) for n in growth.DEEP]
    slope = growth.slope(growth.DEEP, [growth.peak_bytes(net, net.built()[1]) for net in nets])

    assert f"{slope:.2f} from {growth.DEEP[0]} to {growth.DEEP[-1]} layers" == growth.DEEPER


def test_the_page_on_costs_quotes_the_optimizers_on_a_gpu():
    """The page has the range of ratios to optax, plain SGD apart, and the median ratio to torch.

    It also has the time of the port of GPT-2, relative to the network by hand.
    """
    gpt2 = results.load(HERE / "gpu")["written"]["numbers"]["GPT-2, 124 million parameters"]
    rows = results.load(HERE / "gpu")["optimizers"]["numbers"]
    ratios = {name: row["time"] for name, row in rows.items()}
    sgd = ratios.pop("sgd")
    foreach = statistics.median(row["torch foreach"] for row in rows.values())
    page = " ".join((HERE.parent / "docs" / "costs.md").read_text().split())

    assert (
        f"{min(ratios.values()):.1f} to {max(ratios.values()):.1f} times as long as optax's "
        f"(plain SGD {sgd:.2f}) and {foreach:.1f} times as long as torch's `foreach`" in page
    )
    assert f"GPT-2 with 124 million parameters take {gpt2['by hand']:.2f} times as long" in page


def test_the_readme_quotes_what_a_proof_costs():
    """The largest ratio of a proof, with the search for a cause if it fails."""
    rows = results.load(HERE)["proof"]["numbers"]
    most = max(row["ratio"] for row in rows.values())
    page = " ".join((HERE.parent / "README.md").read_text().split())

    assert f"A proof takes up to {most:.1f} times as long as compiling and running" in page


def test_the_page_on_costs_quotes_the_operators():
    """The page has the range and the median of the operators' FLOPs and bytes, and gelu's ratio."""
    rows = results.load(HERE)["functional"]["numbers"]
    flops, moved = ([row[unit] for row in rows.values()] for unit in ("flops", "bytes"))
    costly = sum(max(row.values()) > functional.BOUND for row in rows.values())
    page = " ".join((HERE.parent / "docs" / "costs.md").read_text().split())

    steps = results.load(HERE)["training"]["numbers"]
    amp = max(row["bytes"] for name, row in steps.items() if name.endswith(", amp"))

    assert f"a training step under `autocast` moves up to {amp:.2f} times the bytes" in page
    assert f"For value and gradient of {len(rows)} operators" in page
    assert f"{min(flops):.2f} to {max(flops):.2f} times the FLOPs" in page
    assert f"{min(moved):.2f} to {max(moved):.2f} times the bytes" in page
    assert f"(medians {statistics.median(flops):.2f} and {statistics.median(moved):.2f})" in page
    assert f"`gelu`, for example, takes {rows['gelu']['flops']:.2f} times the FLOPs" in page
    assert f"each of the {costly} operators that cost over {functional.BOUND - 1:.0%}" in (
        page.replace(" %", "%")
    )


def test_the_results_page_is_current(tmp_path):
    """RESULTS.md and the HTML page are generated from results.json and are current."""
    records = results.load(HERE)
    assert set(records) >= set(SECTIONS) - set(ON_REQUEST), "run `make bench`"

    assert results.markdown(records, SECTIONS) == (HERE / "RESULTS.md").read_text()
    results.write(tmp_path, records, SECTIONS)
    assert json.loads((tmp_path / "results.json").read_text()) == records
    page = (tmp_path / "results.html").read_text()
    assert page.count("<svg") == sum(
        len(list(section.figures(records[name]["numbers"])))
        for name, section in SECTIONS.items()
        if name in records and hasattr(section, "figures")
    )
    costs = (HERE.parent / "docs" / "costs.md").read_text()
    assert [cell for cell in results.quote(records) if f"| {cell} |" not in costs] == []
    assert not re.search(r'(src|href)="?https?:', page)


@pytest.mark.parametrize("folder", [HERE, HERE / "gpu"], ids=["cpu", "gpu"])
def test_the_results_page_can_be_read(browser, folder):
    """The page of results fits each width, has contrast, and is reached by keyboard."""
    page = folder / "results.html"

    assert problems(browser, page) == []
    assert "results.html" not in page.read_text(), "the page refers to itself as another one"


def test_plots_come_first_and_have_the_colour_of_the_text():
    """A section's plot is before its tables, and its text has no colour of its own."""
    text = (HERE / "results.html").read_text()

    assert text.index("<svg") < text.index("<table>")
    assert "currentColor" in text and results._INK not in text
    assert "<details open><summary>" in text, "a section without plots shows its numbers"


def test_the_cost_of_a_proof_is_relative_to_what_it_needs(monkeypatch):
    """Rows that are not measured keep their numbers; the table names those above the goal."""
    known = {"ResNet18, pass": {"ratio": 3.0, "found": True, "rounds": 3}}
    run = {"proof": 3.0, "needed": 2.0, "found": False}
    monkeypatch.setattr(proof_cost, "measured", lambda name, kind: run)

    numbers = proof_cost.measure(lambda _: None, ["GRU, 2 layers, gradient"], known)

    row = {"ratio": 1.5, "found": False, "rounds": 3}
    assert numbers == {**known, "GRU, 2 layers, gradient": row}
    lines = list(proof_cost.markdown(numbers))
    assert "| ResNet18 | 3.0 |  |  |" in lines
    assert "| GRU, 2 layers |  |  | 1.5 (cause not confirmed) |" in lines
    assert lines[-1] == "Above the goal: ResNet18, pass."


@pytest.mark.parametrize("name", [x for x in proven.PAIRS if not x.startswith("GPT-2")])
def test_the_ports_of_the_proofs_have_torchs_outputs(name):
    """The mistake of a pair changes the outputs, and the extra stop_gradient does not."""
    made = proven.pair(name)
    expected = made.module(*map(torch.as_tensor, made.inputs)).detach().numpy()
    outputs = {
        k: jax.jit(made.fn(k))(made.params, *made.inputs) for k in ("", "gradient", "output")
    }
    for kind in ("", "gradient"):
        np.testing.assert_allclose(outputs[kind], expected, rtol=1e-3, atol=1e-4)
    assert np.max(np.abs(outputs["output"] - outputs[""])) > 0


def test_a_missing_gpu_is_named(capsys):
    """Benchmarks on a GPU that JAX does not have end with a message that names both devices."""
    with pytest.raises(SystemExit):
        use_device(argparse.ArgumentParser(), "gpu")
    assert "JAX uses the cpu here, not the gpu; JAX_PLATFORMS selects another" in (
        capsys.readouterr().err
    )


def test_the_page_of_a_gpu_names_it():
    """The results of GPUs are on a page of their own, whose title names them."""
    records = results.load(HERE / "gpu")
    page = (HERE / "gpu" / "RESULTS.md").read_text()

    devices = sorted({record["machine"]["device"] for record in records.values()})
    assert page.startswith(f"# What jaxgrad costs on {' and '.join(devices)}\n")
    assert page == results.markdown(records, SECTIONS)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("network", SMALL)
def test_a_written_port_costs_what_the_program_by_hand_costs(network):
    """XLA counts at most 1.05 times the flops and bytes for the port of a network's modules."""
    (found,) = ports.compare_network(SMALL[network]())

    assert 0.5 < found.flops <= 1.05
    assert 0.5 < found.bytes <= 1.05


def test_a_port_that_computes_twice_costs_more(monkeypatch):
    """The comparison sees a port that does more than the program by hand."""
    usual = ports.ported

    def twice(module, inputs):
        run, params = usual(module, inputs)
        return lambda p, x: (run(p, x) + run(p, 2 * x)) / 2, params

    monkeypatch.setattr(ports, "ported", twice)

    (found,) = ports.compare_network(SMALL["MLP"]())
    assert found.flops > 1.5


def test_counters_are_not_differentiated():
    """Integer leaves of the params are kept apart from those that have gradients."""
    params = {"w": jnp.ones(2), "n": jnp.array(3)}
    trained, rest = ports.split(params)

    assert trained["n"] is None and rest["w"] is None
    assert jax.tree.map(bool, jaxgrad.combine(trained, rest)["n"] == 3)


def test_a_table_of_ports_has_their_ratios():
    """A row has the counts of both programs and their ratio."""
    row = ports.Comparison("net", ports.Cost(110.0, 30.0), ports.Cost(100.0, 60.0))

    assert "| net | 110 | 100 | 1.10 | 30 | 60 | 0.50 |" in ports.table([row])


def test_a_table_of_ports_says_why_one_costs_more():
    """Below the table stands the reason of each row above 1.05, and of no other row."""
    cheap = ports.Comparison("clip", ports.Cost(100.0, 60.0), ports.Cost(100.0, 60.0))
    dear = ports.Comparison("mlp", ports.Cost(100.0, 90.0), ports.Cost(100.0, 60.0))

    assert ports.table([cheap, dear]).splitlines()[-1] == f"- mlp: {ports.WHY['mlp']}"
    assert "- clip" not in ports.table([cheap, dear])


def test_every_port_above_the_bound_has_a_reason():
    """In PORT_SPEED.md, XLA's counts are at most 1.05 times those by hand, or a line says why."""
    text = (HERE / "PORT_SPEED.md").read_text()
    rows = re.findall(r"^\| (\w.*?) \|.*\| (\d\.\d+) \|.*\| (\d\.\d+) \|$", text, re.MULTILINE)
    above = {name for name, *ratios in rows if max(map(float, ratios)) > 1.05}

    assert len(rows) == 1 + len(NETWORKS) + len(pairs.SIZES)
    assert above == set(re.findall(r"^- (\w+): ", text, re.MULTILINE))


def test_a_pair_is_opened_in_float32_and_in_its_larger_sizes():
    """The constants of its module are patched until the context ends."""
    with pairs.opened("lstm") as pair:
        inside = lstm.HIDDEN
        leaves = jax.tree.leaves((pair["params"], pair["inputs"]))
        dtypes = {x.dtype for x in (*leaves, *pair["module"].parameters())}

    assert (inside, lstm.HIDDEN) == (pairs.SIZES["lstm"]["HIDDEN"], 8)
    assert dtypes == {np.dtype("float32"), torch.float32}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["MLP", "GPT-2, 2 layers"])
def test_a_written_port_is_timed_beside_torch_and_by_hand(monkeypatch, name):
    """A row has the ratios of times, XLA's count of flops, and the difference of the losses."""
    small = {
        "MLP": lambda: written.of_network(mlp(depth=2, width=8, batch=4)),
        "GPT-2, 2 layers": lambda: written.of_gpt2(2, 5, 2, WIDTH=8, LAYERS=2, VOCABULARY=11),
    }
    monkeypatch.setattr(written, "SMALL", {name: small[name]})
    ticks = []

    rows = written.measure(ticks.append)

    assert ticks == list(rows) == written.cells() == [name]
    assert 0.5 < rows[name]["flops"] < 1.1 and rows[name]["losses differ by"] < 1e-5
    assert rows[name]["by hand"] > 0 and rows[name]["torch"] > 0
    (line,) = [line for line in written.markdown(rows) if line.startswith(f"| {name}")]
    assert line.count("|") == 6


def test_compiling_pays_off_only_where_the_other_step_is_slower():
    """A step of 1.5 times the time repays 10 compiled steps after 20; an equal one never does."""
    assert claims._steps(10, 1.5) == 20
    assert claims._steps(10, 1.0) == claims._steps(10, 0.9) == float("inf")


def test_steps_are_timed_against_torch_compile_row_by_row(monkeypatch):
    """Chosen rows are measured, and the others keep their numbers or have none."""
    monkeypatch.setitem(compiled.NETWORKS, "MLP", SMALL["MLP"])
    monkeypatch.setattr(
        steps, "torch_step", lambda net, behaviour, compiled: torch_step(net, behaviour)
    )
    ticks: list[str] = []
    known = {"transformer, clip": {compiled.RATIO: 0.5}}

    rows = compiled.measure(ticks.append, ["MLP, control"], known)

    assert ticks == ["MLP, control"] and list(rows) == ["MLP, control", "transformer, clip"]
    assert rows["MLP, control"][compiled.RATIO] > 0
    assert "| clip | not measured | not measured | 0.50 |" in list(compiled.markdown(rows))


def test_why_a_step_is_not_compiled_is_recorded(monkeypatch):
    """An error of torch.compile, and a row that is not defined, are recorded with their reasons."""

    def broken(*args, **options):
        raise RuntimeError("no backend\nmore")

    monkeypatch.setitem(compiled.NETWORKS, "MLP", SMALL["MLP"])
    monkeypatch.setattr(steps, "torch_step", broken)
    monkeypatch.setattr(steps.shutil, "which", lambda name: "/usr/bin/g++")
    rows = ["MLP, control", "MobileNetV2, per sample"]

    reasons = [row["why"] for row in compiled.measure(lambda name: None, rows).values()]

    assert reasons == ["no backend", "undefined, since batch norm mixes the samples"]


def test_rows_that_no_network_has_are_refused(monkeypatch, capsys):
    """The command ends with a message if no row has the given part in its name."""
    monkeypatch.setattr("sys.argv", ["benchmarks", "compile", "--rows", "resnet"])
    with pytest.raises(SystemExit):
        benchmarks_main()
    assert "no row's name contains resnet" in capsys.readouterr().err


def test_the_limit_of_an_optimizer_step_is_a_copy_of_its_bytes():
    """A step reads all its arrays and writes parameters and state once; times are over a copy's."""
    arrays = [np.ones((64, 64), np.float32)]
    step = optimizers.Donated(optimizers.jaxgrad_step, optimizers.ROWS["adam"].jaxgrad, arrays)
    given = sum(x.nbytes for x in jax.tree.leaves(step.now))

    assert optimizers.least_bytes(step) == 2 * given + arrays[0].nbytes
    row = optimizers.measure_row(optimizers.ROWS["adam"], arrays, 6)
    assert all(row[f"{name} / limit"] > 0 for name in optimizers.LIMITS)
    lines = list(optimizers.markdown({"adam": row}))
    assert lines[-1].startswith("| adam |") and lines[-1].count("|") == 5
