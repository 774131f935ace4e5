"""Several machines as one bed: a Spark barrier stage puts a host agent on each, and the runner speaks to them all."""
