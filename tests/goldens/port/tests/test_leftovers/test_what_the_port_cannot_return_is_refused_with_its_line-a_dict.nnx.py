# PortError: test_leftovers.py:0 `self.cache["last"] = y`: `cache` is changed while the module runs, and the port cannot return it; return it from forward, or leave the change out
