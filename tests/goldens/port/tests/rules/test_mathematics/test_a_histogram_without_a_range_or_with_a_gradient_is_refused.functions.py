# PortError: test_mathematics.py:0 `return self.fc(x), torch.histc(self.fc(x).detach(), 5)`: histc over the range of the values; give it min= and max=; or pass holes=True (--holes in the shell), and write this statement, or the call around it, by hand

# ---- the next port of this test ----
# PortError: test_mathematics.py:0 `return x, torch.histc(self.fc(x), 5, min=-1, max=1)`: histc has no gradient in torch; detach its input; or pass holes=True (--holes in the shell), and write this statement, or the call around it, by hand
