# PortError: test_functional_calls.py:0 `return acted + torch.func.functional_call(self.critic, fast, (x,))`: functional_call gives a module other parameters, and a flax module holds its own; write the port with style="functions"

# ---- the next port of this test ----
# PortError: test_functional_calls.py:0 `return acted + torch.func.functional_call(self.critic, fast, (x,))`: functional_call gives a module other parameters, and a flax module holds its own; write the port with style="functions"

# ---- the next port of this test ----
# PortError: test_functional_calls.py:0 `return acted + torch.func.functional_call(self.critic, fast, (x,))`: functional_call gives a module other parameters, and a flax module holds its own; write the port with style="functions"

# ---- the next port of this test ----
# PortError: test_functional_calls.py:0 `return acted + torch.func.functional_call(self.critic, fast, (x,))`: functional_call gives a module other parameters, and a flax module holds its own; write the port with style="functions"
