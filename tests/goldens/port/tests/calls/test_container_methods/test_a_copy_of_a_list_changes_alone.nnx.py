# PortError: test_container_methods.py:0 `levels[0] = levels[0] * 3`: an argument is changed in a function, and read by its caller; return it instead; or pass holes=True (--holes in the shell), and write this statement, or the call around it, by hand

# ---- the next port of this test ----
# PortError: test_container_methods.py:0 `levels[0] = levels[0] * 3`: an argument is changed in a function, and read by its caller; return it instead; or pass holes=True (--holes in the shell), and write this statement, or the call around it, by hand

# ---- the next port of this test ----
# PortError: test_container_methods.py:0 `levels[0] = levels[0] * 3`: an argument is changed in a function, and read by its caller; return it instead; or pass holes=True (--holes in the shell), and write this statement, or the call around it, by hand
