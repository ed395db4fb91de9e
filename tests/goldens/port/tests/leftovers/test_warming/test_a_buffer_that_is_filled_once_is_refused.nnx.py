# PortError: test_warming.py:0 `self.length = n`: `length` is read and then set on a module while it runs, so the next call depends on this one; take it as an argument and return it
