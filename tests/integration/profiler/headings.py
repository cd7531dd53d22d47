"""The table of torch.autograd.profiler beside that of hooktrace.profiler: prints both headings and both texts of some times as JSON."""
import json

import torch
from hooktrace.profiler import averages, table
from torch.autograd import profiler_util

with torch.autograd.profiler.profile() as prof:
    torch.zeros(3) + 1
ROWS = [{"name": "f" * 80, "tid": 1, "ts": 10.0, "dur": 5.0}, {"name": "g", "tid": 1, "ts": 11.0, "dur": 1.0}]
ours = averages.Averages.of(averages.nest(ROWS))
work = averages.Averages.of(averages.nest(ROWS + [{"name": "k", "cat": "kernel", "tid": 7, "ts": 1.0, "dur": 2.0}]))
TIMES = (0, 0.5, 999.9994, 1000, 12345.678, 999999, 1e6, 3.5e9)
print(json.dumps({"torch": prof.key_averages().table(header="of torch").splitlines(), "ours": ours.table(header="of torch").splitlines(),
                  "work": work.table().splitlines(), "times": [[profiler_util._format_time(time), table.format_time(time)] for time in TIMES],
                  "shares": [[profiler_util._format_time_share(time, 12345.0), table.format_share(time, 12345.0)] for time in TIMES]}))
