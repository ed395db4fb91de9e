# PortError: inner.linear.weight has a hook, and a flax module has no place where a parameter comes in; write the port with style="functions"

# ---- the next port of this test ----
# PortError: inner.linear.weight has a hook, and a flax module has no place where a parameter comes in; write the port with style="functions"

# ---- the next port of this test ----
# PortError: inner.linear.weight has a hook, and a flax module has no place where a parameter comes in; write the port with style="functions"
