# PortError: test_functional_calls.py:0 `return acted + torch.func.functional_call(self.critic, fast, (x,))`: functional_call gives a module other parameters, and a flax module holds its own; write the port with style="functions"; or pass holes=True (--holes in the shell), and write this statement, or the call around it, by hand

# ---- the next port of this test ----
# PortError: test_functional_calls.py:0 `return acted + torch.func.functional_call(self.critic, fast, (x,))`: functional_call gives a module other parameters, and a flax module holds its own; write the port with style="functions"; or pass holes=True (--holes in the shell), and write this statement, or the call around it, by hand

# ---- the next port of this test ----
# PortError: test_functional_calls.py:0 `return acted + torch.func.functional_call(self.critic, fast, (x,))`: functional_call gives a module other parameters, and a flax module holds its own; write the port with style="functions"; or pass holes=True (--holes in the shell), and write this statement, or the call around it, by hand

# ---- the next port of this test ----
# PortError: test_functional_calls.py:0 `return acted + torch.func.functional_call(self.critic, fast, (x,))`: functional_call gives a module other parameters, and a flax module holds its own; write the port with style="functions"; or pass holes=True (--holes in the shell), and write this statement, or the call around it, by hand
