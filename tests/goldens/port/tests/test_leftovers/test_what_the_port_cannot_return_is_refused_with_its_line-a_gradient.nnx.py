# PortError: test_leftovers.py:0 `y.sum().backward(retain_graph=True)`: the operator backward has no counterpart in jaxgrad.functional
