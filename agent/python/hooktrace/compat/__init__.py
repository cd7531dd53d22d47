"""Names of older tools, made of this package."""
