"""hooktrace.precision: the numbers of a program: whether ranks agree on them, and whether they are right."""
from .agreement import Agreement, agree

__all__ = ["Agreement", "agree"]
