"""truth: compares a report with what a program knows of its own calls, in the form that tests/workloads/truth.h writes."""
import json

from harness import Failure, expect, expect_true

MILLISECOND_NS = 1_000_000


def load(path):
    with open(path, encoding="utf-8") as stream:
        return json.load(stream)


def rows_of(report, rank=0, role="main", domains=None):
    """{(library's base name, function): row} of one rank and role; only these domains, where some are given."""
    rows = {}
    for row in report["calls"]:
        if (row["rank"], row["role"]) == (rank, role) and (domains is None or row["domain"] in domains):
            key = (row["library"].rsplit("/", 1)[-1], row["function"])
            expect_true(f"rank {rank}: two rows for {key}", key not in rows)
            rows[key] = row
    return rows


def wanted_of(truth):
    """The same table of a truth file."""
    return {(library, function): row for library, functions in truth["calls"].items() for function, row in functions.items()}


def expect_calls(what, rows, wanted, keys=("calls", "errors", "bytes")):
    """Exactly these rows with exactly these numbers; a truth that names no errors means none."""
    expect(f"{what}: rows that the program never made", sorted(set(rows) - set(wanted)), [])
    expect(f"{what}: rows that are missing", sorted(set(wanted) - set(rows)), [])
    for key in sorted(wanted):
        # null says that the function has no bytes: as good as 0, and as wrong where there are some.
        got = {name: rows[key][name] or 0 for name in keys}
        expect(f"{what}: {key}", got, {name: wanted[key].get(name, 0) for name in keys})


def times_apart(what, rows, wanted, key="outermost_ns", tolerance=0.05):
    """Compares times of calls of a millisecond and more with the program's own clock, which is read around ours.

    Returns how many rows were compared and {(what, row): how much too short}. A rank that loses its processor between the two
    clocks looks like that once; `settle` tells that from an error of ours. A time too long is one anyway.
    """
    compared, apart = 0, {}
    for name, truth in wanted.items():
        if name in rows and truth["total_ns"] >= MILLISECOND_NS * truth["calls"]:
            missing = 1 - rows[name][key] / truth["total_ns"]
            if missing < -0.01:
                raise Failure(f"{what}: {name}: {key} {rows[name][key]}, the program says {truth['total_ns']}")
            if missing > tolerance:
                apart[what, name] = f"{100 * missing:.1f} % of {truth['total_ns']} ns"
            compared += 1
    return compared, apart


def settle(attempt, runs=8):
    """Runs ATTEMPT(1), (2)... until each time that the first returned as too short was right once; fails if one never was."""
    apart = attempt(1)
    for number in range(2, runs + 1):
        if not apart:
            break
        again = attempt(number)
        apart = {key: again[key] for key in apart if key in again}
    expect(f"times too short in {runs} runs", apart, {})


def expect_quantiles(what, rows):
    """What must hold between the numbers of any row that was timed."""
    for name, row in rows.items():
        if row["mean_ns"] is None:
            raise Failure(f"{what}: {name} has no times: {row}")
        order = [row[key] for key in ("min_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns")]
        # Quantiles come from buckets that are 1/32 of an octave wide; min and max are exact.
        if any(a > b * 1.033 + 1 for a, b in zip(order, order[1:])) or not 0 < row["self_ns"] <= row["total_ns"]:
            raise Failure(f"{what}: {name}: times contradict each other: {row}")


def expect_whole(report, ranks):
    """All ranks are there, ended well and lost nothing."""
    expect("ranks", [row["rank"] for row in report["ranks"]], list(range(ranks)))
    for row in report["ranks"]:
        expect(f"rank {row['rank']}'s exit", row["exit"], {"kind": "exited", "code": 0})
        expect(f"rank {row['rank']}'s lost records", row["lost_records"], 0)
        expect_true(f"rank {row['rank']} ends after it starts", 0 <= row["start_ns"] < row["end_ns"])
    expect("calls untracked", report["job"]["calls_untracked"], 0)
    expect("open calls", report["open_calls"], [])
