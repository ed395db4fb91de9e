"""The table of docs/accelerators.md is the one that the record of `make exports` gives."""

import json

from parity_tests.devices import exports
from parity_tests.devices.program import Refusal


def test_the_page_shows_the_record():
    """docs/accelerators.md shows the counts and exceptions of benchmarks/exports.json."""
    record = json.loads(exports.RECORD.read_text())
    assert exports.table(record) in exports.PAGE.read_text(), "run `make exports`"
    refused = [Refusal(**{**r, "calls": tuple(r["calls"])}) for r in record["refusals"]]
    assert exports.unexpected(refused) == []


def test_exceptions_with_one_reason_share_a_row(tmp_path):
    """The table counts programs by dtype, and groups exceptions by their reason."""
    reason = "JAX has no `eig` there"
    refusals = [
        {"program": f"operators/{name}/float32", "devices": "TPU", "reason": reason, "calls": calls}
        for name, calls in (("linalg.eig", (10, 10)), ("linalg.eigvals", (3, 10)))
    ]
    record = {
        "versions": {"jax": "0.10", "date": "2026-11-24 00:00"},
        "programs": [["operators", "float32", 417], ["operators", "bfloat16", 417]],
        "refusals": refusals,
    }
    page = tmp_path / "page.md"
    page.write_text(f"# A\n{exports.BEGIN}\nold\n{exports.END}\nB\n")

    exports.write(page, record)

    text = page.read_text()
    assert "old" not in text and text.startswith("# A\n") and text.endswith("\nB\n")
    assert "| operators | float32 | 417 | 415 |" in text
    assert "| operators | bfloat16 | 417 | 417 |" in text
    row = "| `linalg.eig`; `linalg.eigvals`, 3 of 10 calls | float32 | TPU | JAX has no `eig` there"
    assert row in text


def test_a_new_exception_is_unexpected():
    """An exception on a device must be expected; one that every device shares need not be."""
    known = Refusal("operators/linalg.eig/float32", "TPU", "why", (1, 1))
    new = Refusal("operators/sin/float32", "TPU", "why", (1, 1))
    shared = Refusal("operators/fft.fft/bfloat16", "any device", "why", (1, 1))

    words = "operators/sin/float32 cannot be lowered for TPU: why"
    assert exports.unexpected([known, new, shared]) == [words]


def test_a_pattern_without_programs_is_a_usage_error(capsys):
    """The command says which pattern matches no program, and exits with status 2."""
    assert exports.main(["no/such/program"]) == 2
    assert "no program's id contains no/such/program" in capsys.readouterr().err
