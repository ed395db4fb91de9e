"""A made case of wrong gradients, shared by several tests."""

from types import SimpleNamespace
from typing import Any, NamedTuple

from jaxgrad.parity.prove.surfaces.gradient_case import Case


class Use(NamedTuple):
    path: str


class Made(Case):
    """A case whose gradients differ unless certain gates are changed to certain numbers."""

    def __init__(self, wrong: str, repairs: dict[str, str], number: float, left: int = 99):
        self.wrong, self.left = frozenset(wrong), left
        self.repairs, self.number = repairs, number
        self.evidence: Any = SimpleNamespace(
            runs=[None],
            draws=[None],
            may_search=lambda **_: True,
            torch_side=SimpleNamespace(versions={"torch": "2.13.0+cpu"}),
            port=SimpleNamespace(
                program=SimpleNamespace(
                    equations={g: SimpleNamespace(primitive=SimpleNamespace(name=g)) for g in "abc"}
                )
            ),
        )
        self.draw, self.elsewhere = 0, True
        gates: Any = [Use(path) for path in repairs]
        self.compiling, self.gated = 0.0, SimpleNamespace(compiles=lambda _: False)
        self.stops = self.uses = self.ties = gates
        self.repeated: Any = []

    def rerun(self, settings: Any, draw: Any = None) -> Any:
        del draw
        self.left -= 1
        return settings

    def differing(self, actual: Any, run: Any, near: Any = None) -> frozenset[str]:
        del near
        assert run is None and set(actual.values()) <= {self.number}
        good = {name for gate in actual for name in self.repairs[gate.path]}
        broken = {name.upper() for name in good if name.isdigit()}
        return (self.wrong - good) | broken

    def holds(self, fixed: Any, settings: Any = None, changes: Any = ()) -> bool:
        del fixed, settings, changes
        return self.elsewhere

    def place(self, key: Any) -> str:
        return f"line {key[0]}"
