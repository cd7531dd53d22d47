"""Dumps to a file that cannot grow beyond a limit of the process, then trains on, and prints the counts. Argument: the directory."""
import json
import resource
import signal
import sys

import torch
from torch_program import Cnn

from hooktrace import precision

torch.set_num_threads(1)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
model = Cnn()
dumper = precision.Dumper(sys.argv[1], model=model, task="tensor")
dumper.start()
for _ in range(4):
    model(torch.randn(16, 3, 32, 32)).sum().backward()
    dumper.step()
dumper.stop()
print(json.dumps(dumper.counts))
