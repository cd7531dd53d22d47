"""hta_check: what Holistic Trace Analysis makes of a directory of Kineto files, as JSON. Run where HTA is installed.

    hta_check.py DIRECTORY [host]

`host`: nothing that HTA works out of devices' rows.
"""
import json
import sys

from hta.trace_analysis import TraceAnalysis


def host_totals(frame):
    """[[category, name, calls, us], ...] of rows that are no device's."""
    rows = frame[frame["stream"] < 0].groupby(["s_cat", "s_name"])["dur"].agg(["count", "sum"])
    return [[category, name, int(row["count"]), float(row["sum"])] for (category, name), row in rows.iterrows()]


def kernels(frame):
    rows = frame[frame["stream"] >= 0]
    return {"rows": len(rows), "linked": int((rows["index_correlation"] > 0).sum())}


def device_views(analysis):
    breakdown = analysis.get_gpu_kernel_breakdown(visualize=False)[1]
    idle = analysis.get_temporal_breakdown(visualize=False)
    launches = analysis.get_cuda_kernel_launch_stats(ranks=analysis.t.get_ranks(), visualize=False)
    return {"breakdown": sorted({(int(row["rank"]), str(row["name"])) for _, row in breakdown.iterrows()}),
            "temporal": sorted(int(rank) for rank in idle["rank"]),
            "launches": {rank: len(frame) for rank, frame in launches.items()}}


def main():
    analysis = TraceAnalysis(trace_dir=sys.argv[1], include_last_profiler_step=True)
    trace = analysis.t
    seen = {"ranks": {}, **({} if "host" in sys.argv[2:] else device_views(analysis))}
    trace.decode_symbol_ids(use_shorten_name=False)
    for rank in trace.get_ranks():
        frame = trace.get_trace(rank)
        seen["ranks"][rank] = {"host": host_totals(frame), "device": kernels(frame), "shortest_us": float(frame["dur"].min()),
                               "steps": [int(number) for number in trace.get_iterations(rank)]}
    json.dump(seen, sys.stdout)


if __name__ == "__main__":
    main()
