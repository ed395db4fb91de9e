"""Prove that a JAX port has the gradients of a torch module, by comparing six surfaces.

prove       the entry point; request: its arguments; evidence: every run of both frameworks
adapters    flax and equinox models as functions; checks: errors of the user's own code
torch_side  runs the torch module, or reads a dump of it;  jax_side  traces and runs the port
weights     maps each element of a torch tensor to an element of a JAX leaf
align       finds torch's intermediate values among the port's, by fingerprint
surfaces    structure, forward, backward, gradients, updates, precision; each gives a verdict, a
            location and a cause
judge       compares two arrays; report: the result; page: HTML reports; command: files of pairs
"""
