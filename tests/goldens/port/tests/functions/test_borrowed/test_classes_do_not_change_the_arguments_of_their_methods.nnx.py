# PortError: test_borrowed.py:0 `sizes[dim] = h.size(0)`: an argument is changed in a function, and read by its caller; return it instead
