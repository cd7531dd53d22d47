"""hooktrace: what this process does, on one timeline with every other rank."""
