"""The suite can be split into parts that CI runs at the same time."""

from types import SimpleNamespace

import pytest

from conftest import in_shard, pytest_collection_modifyitems


def test_the_parts_hold_every_test_once():
    """Each of many names is in exactly one part, and no part has more than 40 % of the names."""
    names = [f"tests/test_x.py::test_{n}" for n in range(3000)]
    parts = [[name for name in names if in_shard(name, f"{n}/3")] for n in (1, 2, 3)]

    assert sorted(name for part in parts for name in part) == sorted(names)
    assert max(map(len, parts)) < 0.4 * len(names)


@pytest.mark.parametrize("shard", ["0/3", "4/3", "2", "a/b", "1/0"])
def test_a_wrong_part_says_what_to_write(shard):
    """A part that does not exist is a usage error with the form of a correct one."""
    with pytest.raises(pytest.UsageError, match=f"SHARD={shard}: write SHARD=2/3 for the second"):
        in_shard("tests/test_x.py::test_y", shard)


@pytest.mark.parametrize(("runs_all", "kept"), [(False, ["quick"]), (True, ["quick", "slow"])])
def test_slow_tests_run_with_all_others_only(monkeypatch, runs_all, kept):
    """`make test` leaves out what takes longer than 10 s; `make test-all` does not."""
    monkeypatch.delenv("SHARD", raising=False)
    monkeypatch.delenv("TEST_ALL", raising=False)
    if runs_all:
        monkeypatch.setenv("TEST_ALL", "1")
    markers = {"quick": None, "slow": pytest.mark.slow}

    class Item:
        def __init__(self, name):
            self.name = self.nodeid = name

        def get_closest_marker(self, label):
            return markers[self.name] if label == "slow" else None

    items = [Item("quick"), Item("slow")]
    config = SimpleNamespace(hook=SimpleNamespace(pytest_deselected=lambda items: None))
    pytest_collection_modifyitems(config, items)  # pyright: ignore[reportArgumentType]
    assert [item.name for item in items] == kept
