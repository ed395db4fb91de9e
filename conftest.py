"""Choose the tests of a run: those whose packages can be imported, or one part of all tests."""

import os
import re
import zlib
from collections import Counter
from collections.abc import Sequence

import pytest


collect_ignore = []

try:
    import flax.nnx  # noqa: F401
except Exception:  # flax may fail with any error under a newer JAX
    collect_ignore += ["jaxgrad/nnx", "tests/jaxgrad/nnx"]


def in_shard(name: str, shard: str) -> bool:
    """Return whether a test belongs to a part of the suite: "2/3" is the second of three parts."""
    match = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", shard)
    if match is None or int(match[1]) > int(match[2]):
        raise pytest.UsageError(f"SHARD={shard}: write SHARD=2/3 for the second of three parts")
    return zlib.crc32(name.encode()) % int(match[2]) == int(match[1]) - 1


def in_sample(items: Sequence[pytest.Item]) -> list[bool]:
    """Return for each test whether it is in the sample: `sampled(n)` keeps every n-th case."""
    cases: Counter[tuple[object, str]] = Counter()
    kept: list[bool] = []
    for item in items:
        case = (item.parent, getattr(item, "originalname", item.name))
        sample = item.get_closest_marker("sampled")
        kept.append(sample is None or cases[case] % sample.args[0] == 0)
        cases[case] += 1
    return kept


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the part of the tests that SHARD names; without TEST_ALL, a sample of the quick ones."""
    shard, runs_all = os.environ.get("SHARD"), "TEST_ALL" in os.environ
    left: list[pytest.Item] = []
    kept: list[pytest.Item] = []
    for item, sampled in zip(items, in_sample(items), strict=True):
        runs = runs_all or (sampled and item.get_closest_marker("slow") is None)
        runs &= not shard or in_shard(item.nodeid, shard)
        (kept if runs else left).append(item)
    items[:] = kept
    if left:
        config.hook.pytest_deselected(items=left)
