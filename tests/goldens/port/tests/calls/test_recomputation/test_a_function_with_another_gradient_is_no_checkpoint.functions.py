# PortError: test_recomputation.py:0 `ctx.run, ctx.inputs, ctx.params = run, list(args[:length]), list(args[length:])`: a value of type function cannot be written in the port
