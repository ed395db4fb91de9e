"""The record of a port has its costs, or the reason why there is none."""

import json

from parity_tests.audits.port_baseline import main, record


def test_a_record_has_the_costs_of_both_styles():
    """Dropout's port is short, and its flops include those of its layers."""
    row = record("dropout")

    assert row["module"] == "dropout"
    assert row["lines as functions"] > 10 and row["lines as nnx"] > 10
    assert row["names kept"] == row["of names"]
    assert row["flops"] > 1000
    assert min(row["seconds as functions"], row["seconds as nnx"]) >= 0


def test_a_refused_module_has_its_reason():
    """A module that cannot be written has no costs."""
    row = record("switch")

    assert "nonzero() makes a size that depends on values" in row["refused as functions"]
    assert "flops" not in row


def test_the_records_are_written_as_json(tmp_path, capsys):
    """The file says how its numbers are measured, and with which versions."""
    path = tmp_path / "a.json"

    assert main(["switch", "--json", str(path)]) == 0
    content = json.loads(path.read_text())
    assert [row["module"] for row in content["modules"]] == ["switch"]
    assert content["about"].startswith("The seconds are CPU time without a proof")
    assert set(content["versions"]) == {"python", "torch", "jax", "flax"}
    assert "refused as nnx" in capsys.readouterr().out
