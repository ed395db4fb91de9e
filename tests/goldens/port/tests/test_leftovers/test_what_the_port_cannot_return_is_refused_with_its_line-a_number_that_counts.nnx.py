# PortError: test_leftovers.py:0 `self.number += 1`: `number` is read and then set on a module while it runs, so the next call depends on this one; take it as an argument and return it
