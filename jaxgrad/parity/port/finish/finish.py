"""Rewrite the functions of a port as a person writes them; what they compute stays the same."""

from __future__ import annotations

from collections.abc import Sequence

from jaxgrad.parity.port.finish.assignments import with_few_assignments
from jaxgrad.parity.port.finish.hooked import with_hooked_names
from jaxgrad.parity.port.finish.idioms import with_features_read, with_idioms
from jaxgrad.parity.port.finish.keys import with_few_splits
from jaxgrad.parity.port.finish.layers import with_whole_params
from jaxgrad.parity.port.finish.lines import with_short_lines
from jaxgrad.parity.port.finish.names import with_few_names
from jaxgrad.parity.port.finish.records import with_unpacked_records
from jaxgrad.parity.port.finish.repeats import with_loops
from jaxgrad.parity.port.finish.results import without_unread_results
from jaxgrad.parity.port.finish.signatures import with_one_order
from jaxgrad.parity.port.finish.stops import with_few_stops
from jaxgrad.parity.port.finish.unused import without_unused_names
from jaxgrad.parity.port.finish.updates import with_copied_params
from jaxgrad.parity.port.source.written import Written


REWRITES = (
    with_hooked_names, without_unread_results, with_one_order, with_whole_params, with_loops,
    with_few_stops, with_idioms, with_few_splits, with_unpacked_records, with_copied_params,
    with_few_names, with_few_assignments, with_short_lines, with_few_names, without_unused_names,
    with_features_read,
)  # fmt: skip


def finished(functions: Sequence[Written], tail: Sequence[Written] = ()) -> list[Written]:
    """Return the functions, rewritten; those of `tail` stay as they are."""
    own = [w for w in functions if w not in tail]
    for rewrite in REWRITES:
        own = rewrite(own)
    return [*own, *(w for w in functions if w in tail)]
