"""Note the calls whose only purpose is their result, and whose result the port never uses.

A tensor of torch changes in place; an array of JAX does not. So a lone `x.at[i].set(y)`, a lone
`stop_gradient(x)` and a lone `jaxgrad.hook(x, f)` do nothing, and nothing raises.
"""

from __future__ import annotations

from jaxgrad._core import source
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.record.jax_side.flow import place
from jaxgrad.parity.prove.wording import jax_program


_HOOKS = "attach"  # the primitives of `jaxgrad.hook`
_RETURN_A_COPY = ("scatter", "dynamic_update_slice", "stop_gradient", _HOOKS)
_MOST = 3  # places that are listed


def notes(evidence: Evidence) -> tuple[str, ...]:
    """Return the note on a port's calls whose result no output depends on; none if all are used."""
    flow, program = evidence.flow, evidence.port.program
    if any(eqn.primitive.name == "while" for eqn in program.equations.values()):
        return ()  # its condition uses values on which no output depends
    used = {path for path, _ in flow.used}
    unused: dict[str, str] = {}
    for path, eqn in program.equations.items():
        name = eqn.primitive.name
        copies = name.startswith(_RETURN_A_COPY) and path not in program.closed
        # An operator of jaxgrad may compute a value that this call of it does not need.
        if copies and source.is_called_by_user(eqn, through_jaxgrad=name.startswith(_HOOKS)):
            at = place(program, (path, 0))
            unused[at] = "" if path in used else unused.get(at, at)  # one call of several is used
    listed = [at for at in unused.values() if at]
    if not listed:
        return ()
    more = f" and {len(listed) - _MOST} more" if len(listed) > _MOST else ""
    return (
        f"no output of {jax_program(evidence.reference)} depends on the result of "
        f"{', '.join(listed[:_MOST])}{more}: return it or assign it, because .at[...], "
        "stop_gradient and jaxgrad.hook do not change their argument",
    )
