"""Dumps of tensors on a CUDA device, against the statistics in C of their copies. `done` is printed at the end; exits with 77 without a
device. It needs only torch and the package, so that it can be copied to a machine that has a device."""
import hashlib
import math
import os
import sys
import tempfile

import torch
import torch.nn.functional as F
from torch_program import Cnn

from hooktrace import precision

DIRECTORY = tempfile.mkdtemp()


def same(what, got, wanted):
    assert got == wanted, f"{what}: {got}, expected {wanted}"


def made():
    torch.manual_seed(1)
    model = Cnn().cuda()
    return model, torch.optim.SGD(model.parameters(), lr=0.05), torch.randn(16, 3, 32, 32).cuda(), torch.randint(0, 10, (16,)).cuda()


def step(model, optimizer, x, y):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()


def trained(name, **options):
    """A digest of the parameters after three steps, and the dump."""
    model, optimizer, x, y = made()
    path = os.path.join(DIRECTORY, name)
    dumper = precision.Dumper(path, model=model, optimizer=optimizer, quiet=True, **options) if options else None
    if dumper:
        dumper.start()
    for _ in range(3):
        step(model, optimizer, x, y)
        if dumper:
            dumper.step()
    if dumper:
        dumper.stop()
    digest = hashlib.sha256(b"".join(parameter.detach().cpu().numpy().tobytes() for parameter in model.parameters())).hexdigest()
    return digest, {(row.sequence, row.role, row.slot): row for row in precision.open(path).rows() if row.scalar is None} if dumper else {}


def statistics():
    plain, _ = trained("plain")
    asked, rows = trained("statistics", gradients=True, parameters=True)
    copied, copies = trained("tensor", task="tensor", gradients=True, parameters=True)
    same("parameters", (asked, copied), (plain, plain))
    same("rows", rows.keys(), copies.keys())
    for key, row in rows.items():
        copy = copies[key]
        same(f"counts of {row}", (row.device, row.count, row.nans, row.zeros), (copy.device, copy.count, copy.nans, copy.zeros))
        for a, b in ((row.min, copy.min), (row.max, copy.max), (row.mean, copy.mean), (row.l2, copy.l2), (row.deviation, copy.deviation)):
            assert math.isnan(a) and math.isnan(b) or abs(a - b) <= 1e-9 * max(abs(a), abs(b), copy.max - copy.min), (row, copy)


def waits_for_nothing():
    """Within a step nothing waits for the device; torch raises where something does."""
    model, optimizer, x, y = made()
    with precision.Dumper(os.path.join(DIRECTORY, "waits"), model=model, quiet=True) as dumper:
        step(model, optimizer, x, y)
        dumper.step()
        torch.cuda.set_sync_debug_mode("error")
        step(model, optimizer, x, y)
        torch.cuda.set_sync_debug_mode("default")
        dumper.step()


def graphs():
    """What a graph records is the program's own work."""
    x = torch.ones(4, device="cuda")
    with precision.Dumper(os.path.join(DIRECTORY, "graph"), quiet=True) as dumper:
        torch.relu(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = torch.relu(x) + 1
        graph.replay()
        torch.cuda.synchronize()
    same("of the graph", out.tolist(), [2.0] * 4)
    assert any("devices" in reason for reason in dumper.counts["left_out"]), dumper.counts


def loss_scale():
    model, optimizer, x, y = made()
    scaler = torch.amp.GradScaler("cuda", init_scale=2.0 ** 40)
    finds = []
    with precision.watch(on_find=finds.append, save=False) as watch:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    same("finds", finds, [])
    same("the scale", scaler.get_scale(), 2.0 ** 39)
    same("loss scale steps", watch.counts["loss_scale_steps"], 1)


def watched():
    """The finds of a watch are those of the host."""
    finds = []
    zero = torch.zeros(3, device="cuda")
    with precision.watch(on_find=finds.append, path=os.path.join(DIRECTORY, "watched")):
        torch.log(torch.ones(3, device="cuda") / zero - 2)
        torch.tensor([60000.0], dtype=torch.float16, device="cuda").add_(5504.0)
    same("finds", [(find.api, find.inherited) for find in finds], [("torch.Tensor.__truediv__", False), ("torch.Tensor.add_", False)])


def main():
    if not torch.cuda.is_available():
        sys.exit(77)
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    for case in (statistics, waits_for_nothing, graphs, loss_scale, watched):
        case()
        print(case.__name__, flush=True)
    print("done")


if __name__ == "__main__":
    main()
