# PortError: test_context_managers.py:0 `yield h`: a generator is not ported; return a list; or pass holes=True (--holes in the shell), and write this statement, or the call around it, by hand
