# PortError: the optimizer does not have inner.bias, which requires a gradient; freeze it with requires_grad_(False), or give the optimizer every parameter
