# PortError: test_autograd_functions.py:0 `return Noisy.apply(x)`: forward of Noisy draws random numbers, and its port gets no key; draw them in the module, and pass them to apply()
