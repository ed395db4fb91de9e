"""A printed cause is compared with the planted one, place by place."""

import pytest

from jaxgrad.parity import Finding, Report, Surface
from parity_tests.audits import planted_causes
from parity_tests.ports.bug import Bug, extra_stop, missing_stop


EPS = Bug("eps", "forward", "bn", cause=r"eps is 0\.001, torch uses 1e-05")
STOP = Bug("stop", "backward", "bn", cause=extra_stop("stop_mean"))
WRONG, RIGHT = "torch's add is missing", "eps is 0.001, torch uses 1e-05 (rerunning torch)"


def finding(cause: str, *, tested: bool = True, surface: str = "forward") -> Finding:
    return Finding(surface, "bn", "port.py:3", "differs", cause=cause, tested=tested)


def report(*findings: Finding) -> Report:
    """Return a failing report that prints the findings."""
    surfaces = {f.surface: Surface(f.surface, "fail", "") for f in findings}
    for name in surfaces:
        of_surface = tuple(f for f in findings if f.surface == name)
        surfaces[name] = Surface(name, "fail", "", findings=of_surface)
    return Report("fail", surfaces, first=findings[0] if findings else None)


@pytest.mark.parametrize(
    "cause, tested, expected",
    [
        (RIGHT, True, "right"),
        (RIGHT, False, "possible"),
        ("", False, "none"),
        (WRONG, False, "doubtful"),
        (WRONG, True, "false"),
    ],
)
def test_a_cause_is_judged_by_whether_it_is_confirmed_and_matches(cause, tested, expected):
    """Only a cause that is called confirmed is right or false."""
    found = report(finding(cause, tested=tested))

    assert planted_causes.judged(found, [EPS]) == expected
    assert planted_causes.false_causes(found, [EPS]) == ([WRONG] if expected == "false" else [])


def test_a_false_further_cause_makes_the_report_false():
    """A report prints other mistakes after the first; each confirmed cause must be true."""
    found = report(finding(RIGHT), finding(WRONG, surface="gradients"))

    assert planted_causes.confirmed(found) == 2
    assert planted_causes.judged(found, [EPS]) == "false"
    assert planted_causes.false_causes(found, [EPS]) == [WRONG]


def test_a_bug_without_an_expression_has_no_true_cause():
    """A confirmed cause is false if nothing says that it is true."""
    bug = Bug("eps", "forward", "bn")

    assert planted_causes.judged(report(finding(RIGHT)), [bug]) == "false"


def test_each_place_of_a_list_is_a_claim(monkeypatch):
    """Naming a stop that is right beside the planted one is false."""
    lines = {3: "mean = stop_mean(mean)\n", 9: "return jax.nn.softmax(x)\n"}
    monkeypatch.setattr(planted_causes.linecache, "getline", lambda path, n: lines.get(n, ""))
    tail = "(rerunning JAX without them, all gradients agree)"
    one = f"an extra stop_gradient at port.py:3, called from port.py:7 (Net/block()) {tail}"
    several = (
        f"an extra stop_gradient at port.py:3 (stop_gradient) and at port.py:9 (vmap()) {tail}"
    )

    assert planted_causes.judged(report(finding(one)), [STOP]) == "right"
    assert planted_causes.judged(report(finding(several)), [STOP]) == "false"
    other = Bug("other", "backward", "fc", cause=extra_stop("softmax"))
    assert planted_causes.judged(report(finding(several)), [STOP, other]) == "right"


def test_a_place_is_followed_by_its_line(monkeypatch):
    """Backticks of the line do not end the quotation, and unknown files stay as they are."""
    monkeypatch.setattr(
        planted_causes.linecache,
        "getline",
        lambda path, n: "x = 1  # `x`\n" if path.endswith("ports/a.py") else "",
    )

    assert planted_causes.located("at a.py:1 and b.py:2") == "at a.py:1 `x = 1  # 'x'` and b.py:2"


@pytest.mark.parametrize(
    "cause, expected",
    [
        (
            "torch stops the gradient at a.py:1 (detach) and at a.py:2, JAX does not (rerunning "
            "torch without these stops, all gradients agree); add a stop_gradient",
            [
                "torch stops the gradient at a.py:1 (detach)",
                "torch stops the gradient at a.py:2",
            ],
        ),
        (
            "JAX's gradient also flows through the call at a.py:1 and b.py:2, torch's does not",
            [
                "JAX's gradient also flows through the call at a.py:1",
                "JAX's gradient also flows through b.py:2",
            ],
        ),
        (
            "the rate is 2, and the decay is 1, seen from step 2 on (rerunning torch)",
            ["the rate is 2", "the decay is 1", " (rerunning torch)"],
        ),
        ("q and k are swapped", ["q and k are swapped"]),
    ],
)
def test_a_cause_is_split_into_its_claims(cause, expected):
    """A list of places, or of changes, is true only if each of them is."""
    assert planted_causes.claims(cause) == expected


def test_a_missing_stop_is_named_in_torch_or_in_jax():
    """The expression matches a place of torch's detach and a place where JAX's gradient flows."""
    bug = Bug("target", "backward", "q", cause=missing_stop(r"\.detach", "stop_target"))

    for claim, expected in [
        ("torch stops the gradient at a.py:1 `y = x.detach()` (detach)", True),
        ("JAX's gradient also flows through the call at a.py:2 `stop_target(x)`", True),
        ("JAX's gradient also flows through a.py:2 `stop_value(x)` (sub)", False),
    ]:
        assert planted_causes.explains(claim, bug) is expected
