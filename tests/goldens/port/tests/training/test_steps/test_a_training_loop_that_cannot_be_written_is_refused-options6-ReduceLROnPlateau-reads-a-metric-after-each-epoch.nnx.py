# PortError: ReduceLROnPlateau reads a metric after each epoch, which the training step does not have; step jaxgrad.optim.lr_scheduler.reduce_lr_on_plateau outside of it
