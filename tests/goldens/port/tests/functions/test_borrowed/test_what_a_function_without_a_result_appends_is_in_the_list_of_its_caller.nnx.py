# PortError: test_borrowed.py:0 `shape.append(len(data))`: an argument is changed in a function, and read by its caller; return it instead

# ---- the next port of this test ----
# PortError: test_borrowed.py:0 `shape.append(len(data))`: an argument is changed in a function, and read by its caller; return it instead
