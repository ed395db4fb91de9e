# PortError: test_made_objects.py:0 `return x + cache.layers[0].keys.sum()`: `keys` of Layer is set in one function and read in another; return it, and pass it as an argument
