# PortError: test_func_gradients.py:0 `return self.second(torch.func.grad(lambda v: (self.energy(v), v), has_aux=True)(x)[0])`: torch.func.grad with has_aux=; leave it out
