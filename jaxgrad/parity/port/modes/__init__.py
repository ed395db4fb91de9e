"""Train and eval mode: what differs between them is written once, with `training=`."""
