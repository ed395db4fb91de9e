# PortError: test_leftovers.py:0 `self.__dict__["last"] = 3`: `last` is changed while the module runs, and the port cannot return it; return it from forward, or leave the change out
