# PortError: Named has an attribute 'sow', which is flax's name of something else; rename it, or write the port with style="functions"
