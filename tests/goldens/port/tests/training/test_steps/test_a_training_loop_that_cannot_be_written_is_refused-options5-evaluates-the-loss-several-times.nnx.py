# PortError: a step of LBFGS evaluates the loss several times; write it by hand
