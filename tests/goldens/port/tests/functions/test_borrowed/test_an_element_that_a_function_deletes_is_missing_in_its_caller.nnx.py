# PortError: test_borrowed.py:0 `del parts[0]`: an argument is changed in a function, and read by its caller; return it instead
