"""The tests on sizes by which a torch program branches; of some, both arms are written."""

from __future__ import annotations

import dataclasses

from jaxgrad.parity.port.source.refusals import Place


@dataclasses.dataclass
class SizeTests:
    """The tests of one run.

    Attributes:
        answers: What each test gave, by its place in the torch source.
        both: The tests of which both arms are written.
    """

    answers: dict[Place, set[bool]] = dataclasses.field(default_factory=dict)
    both: frozenset[Place] = frozenset()

    def note(self, place: Place, answer: bool) -> bool:
        """Note what a test gives; return whether both of its arms are written."""
        self.answers.setdefault(place, set()).add(answer)
        return place in self.both
