"""The Python package on a GPU: APIs that wait for the device, device_time beside events, a profile with device times. Prints what differs and
ends with 1, or prints figures."""
import sys

import torch

import hooktrace
import hooktrace.apis
from hooktrace.profiler import device_time, profile

ROUNDS = 20
a = torch.randn(4096, 4096, device="cuda")


def event_ms():
    """The time of a product by torch's events, the median of ROUNDS."""
    times = []
    for _ in range(ROUNDS):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        torch.mm(a, a)
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return sorted(times)[ROUNDS // 2]


def near(what, got, wanted, share):
    print(f"{what}: {got:.4f}, expected {wanted:.4f}")
    if abs(got - wanted) > share * wanted:
        print(f"FAILED: {what} is {abs(got / wanted - 1):.1%} off")
        sys.exit(1)


def analysed(**options):
    """Mean time of a product by API timing, in ms."""
    hooktrace.apis.start("torch", **options)
    hooktrace.apis.start_analysis()
    for _ in range(ROUNDS):
        torch.mm(a, a)
    analysis = hooktrace.apis.end_analysis()
    hooktrace.apis.stop()
    row = analysis["torch.mm"]
    if row.calls != ROUNDS:
        print(f"FAILED: {row.calls} calls of torch.mm, expected {ROUNDS}")
        sys.exit(1)
    torch.cuda.synchronize()
    return row.mean_ns / 1e6


def main():
    for _ in range(5):
        torch.mm(a, a)
    torch.cuda.synchronize()
    wanted = event_ms()
    timing = device_time(lambda: torch.mm(a, a), repeat=ROUNDS)
    near("device_time, ms", timing.median_ms, wanted, 0.05)
    near("torch.mm that waits, ms", analysed(parall_execute=False), wanted, 0.15)
    print(f"torch.mm that does not wait, ms: {analysed():.4f}")
    hooktrace.start(job="package", store=sys.argv[1], device_time=True)
    with profile() as prof:
        for _ in range(ROUNDS):
            torch.mm(a, a)
        torch.cuda.synchronize()
    averages = prof.key_averages()
    print(averages.table(sort_by="self_cuda_time_total", row_limit=8))
    near("profile's device time of a product, ms", averages.self_device_time_total / 1000 / ROUNDS, wanted, 0.05)
    hooktrace.stop()


if __name__ == "__main__":
    main()
