# PortError: test_container_methods.py:0 `levels[0] = levels[0] * 3`: an argument is changed in a function, and read by its caller; return it instead

# ---- the next port of this test ----
# PortError: test_container_methods.py:0 `levels[0] = levels[0] * 3`: an argument is changed in a function, and read by its caller; return it instead

# ---- the next port of this test ----
# PortError: test_container_methods.py:0 `levels[0] = levels[0] * 3`: an argument is changed in a function, and read by its caller; return it instead
