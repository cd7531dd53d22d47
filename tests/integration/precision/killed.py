"""Dumps a training without end, and says after each step how many there are, so that a reader can kill it. Argument: the directory."""
import sys

import torch
from torch_program import Cnn

from hooktrace import precision

torch.set_num_threads(1)
model = Cnn()
with precision.Dumper(sys.argv[1], model=model, quiet=True) as dumper:
    while True:
        model(torch.randn(2, 3, 32, 32)).sum().backward()
        dumper.step()
        print("step", flush=True)
