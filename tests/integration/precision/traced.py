"""A training step on the timeline of a job, with its values dumped. Prints the rows' calls as JSON: [[name, begin_ns, thread]]."""
import json
import os
import sys

import torch
from torch_program import Cnn

import hooktrace
from hooktrace import precision

torch.set_num_threads(1)
hooktrace.start()
path = os.path.join(sys.argv[1], "timeline")
model = Cnn()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with precision.Dumper(path, model=model, optimizer=optimizer, gradients=True, quiet=True, backward=False) as dumper:
    optimizer.step(lambda: model(torch.randn(2, 3, 32, 32)).sum())
    dumper.step()
hooktrace.stop()
print(json.dumps([[row.name, row.begin_ns, row.thread] for row in precision.open(path).rows() if row.role == "output"]))
