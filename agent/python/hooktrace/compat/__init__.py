"""hooktrace.compat: the names and outputs of the tools that hooktrace takes the place of."""
