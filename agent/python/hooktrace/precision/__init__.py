"""hooktrace.precision: the values of a program's tensors: dumped, watched, compared.

    with hooktrace.precision.Dumper("values", model=model) as dumper:
        for batch in batches:
            train(batch)
            dumper.step()

Values are taken at the calls of torch's, Paddle's and MindSpore's APIs, which hooktrace.apis hooks in place: no Python object is
replaced, and what the program computes is the same, bit by bit.
"""
from .dumper import Dumper

__all__ = ["Dumper"]
