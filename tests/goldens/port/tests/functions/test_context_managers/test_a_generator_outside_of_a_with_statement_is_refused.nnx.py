# PortError: test_context_managers.py:0 `yield h`: a generator is not ported; return a list
