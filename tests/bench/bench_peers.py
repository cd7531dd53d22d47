#!/usr/bin/python3
"""What one recorded library call costs under hooktrace and under its peers: bench_peers.py BUILD_DIR [ROUNDS].

One process per tool, all alive at once, taking turns: a burst each, ROUNDS times. A figure is the median of a tool's bursts less
the median of the same calls in a process that nothing traces. What each tool kept is compared with the calls that were made: a
tool that records nothing is fast. Exit status 77 if a peer is not installed.
"""
import contextlib
import os
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))

from harness import Run, expect, expect_true, main, total_calls, wait_for  # pylint: disable=wrong-import-position

BURST = 4096
LOG_BURST = 512
LTRACE_BURST = 32
EVENTS = ("one", "begin", "end")

# label, process, loop, calls per burst, least ratio to hooktrace's unordered record (from the design; None: just shown)
VARIANTS = (
    ("one rdtsc", "plain", "rdtsc", BURST, None),
    ("plain call", "plain", "plain", BURST, None),
    ("hooktrace off", "hooktrace", "off", BURST, None),
    ("hooktrace count", "hooktrace", "count", BURST, None),
    ("hooktrace sample", "hooktrace", "sample", BURST, None),
    ("hooktrace time", "hooktrace", "time", BURST, None),
    ("hooktrace record, unordered", "hooktrace", "record", BURST, None),
    ("hooktrace record, ordered", "hooktrace", "ordered", BURST, None),
    ("hooktrace record, undescribed", "hooktrace", "unknown", BURST, None),
    ("LTTng-UST event disabled", "lttng", "disabled", BURST, None),
    ("LTTng-UST one tracepoint", "lttng", "one", BURST, 3.0),
    ("LTTng-UST begin + end", "lttng", "pair", BURST, None),
    ("uftrace, PLT", "uftrace", "plain", BURST, 3.5),
    ("flushed log line", "plain", "log", LOG_BURST, 20.0),
    ("ltrace", "ltrace", "plain", LTRACE_BURST, None),
)
NOTHING = ("one rdtsc", "plain call")
# A record reads the clock twice, a tracepoint once. Where reads take most of a record, the limit is for what both take beside them:
# label: (reads, least ratio).
RECORD_READS = 2
BESIDE_READS = {"LTTng-UST one tracepoint": (1, 5.0)}


class Peer:
    """A running peer program; ends with its input."""

    def __init__(self, run, command, **env):
        self.calls = {}
        # A peer's own chatter is no result; what it kept is looked at instead.
        self.process = subprocess.Popen([str(word) for word in command], cwd=run.directory, env=run.environment(**env), text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def burst(self, loop, calls):
        """ns per call."""
        self.process.stdin.write(f"{loop} {calls}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        expect_true(f"{self.process.args[0]} still runs", line != "")
        # With the unmeasured eighth before each burst.
        self.calls[loop] = self.calls.get(loop, 0) + calls + calls // 8
        return float(line)

    def end(self):
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.stdout.close()
        expect(f"exit status of {self.process.args[0]}", self.process.wait(), 0)


class Sessions:
    """LTTng's session daemon: the one that runs already, or one for this run; and one session of ours."""

    def __init__(self, run):
        self.run = run
        self.home = {"LTTNG_HOME": run.directory}
        self.name = os.path.basename(run.directory)
        self.daemon = None
        self.discarded = None

    def lttng(self, *arguments, check=True):
        return self.run.command("lttng", "--no-sessiond", *arguments, env=self.home, check=check)

    def listening(self):
        return self.lttng("list", check=False).returncode == 0

    def __enter__(self):
        if not self.listening():
            self.daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], env=self.run.environment(**self.home),
                                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wait_for("LTTng's session daemon", self.listening)
        self.lttng("create", self.name, f"--output={self.run.path('lttng')}")
        for event in EVENTS:
            self.lttng("enable-event", "-u", f"hk_peer:{event}", "-s", self.name)
        self.lttng("start", self.name)
        return self

    def stop(self):
        """Ends the session; its complaints are about what it lost."""
        done = self.lttng("destroy", self.name)
        self.discarded = [line for line in (done.stdout + done.stderr).splitlines() if "discard" in line or "lost" in line]

    def __exit__(self, *_):
        if self.discarded is None:
            self.lttng("destroy", self.name, check=False)
        if self.daemon:
            self.daemon.terminate()
            self.daemon.wait()


def bytes_below(path):
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(path) for name in names)


def lines_of(path, part):
    with open(path, encoding="utf-8", errors="replace") as stream:
        return sum(part in line for line in stream)


def start(run, stack):
    """{name: Peer}: hooktrace and its peers, on the same program where they can be."""
    bench = os.path.join(run.build, "tests", "bench")
    program = os.path.join(bench, "peers", "bench_peer")
    hookcli = (run.binary("hookcli"), "run", "-q", "--budget", "off", "--store", run.path("store"), "--job", "peers",
               "--hooks", os.path.join(HERE, "call.hooks"), "--")
    commands = {
        "plain": (program,),
        "hooktrace": (*hookcli, program),
        "uftrace": ("uftrace", "record", "--no-event", "--force", "-d", run.path("uftrace"), program),
        "ltrace": ("ltrace", "-e", "bench_plain", "-o", run.path("ltrace"), program),
        "lttng": (os.path.join(bench, "peers", "bench_peer_lttng"),),
    }
    # LTTng's library is to register before the first event, not to give up after its usual three seconds.
    env = {"lttng": {"LTTNG_HOME": run.directory, "LTTNG_UST_REGISTER_TIMEOUT": "-1"}}
    peers = {}
    for name, command in commands.items():
        peers[name] = Peer(run, command, **env.get(name, {}))
        stack.callback(peers[name].process.kill)
    return peers


def measure(peers, rounds):
    """{label: median ns per call}."""
    bursts = {label: [] for label, *_ in VARIANTS}
    for turn in range(-3, rounds):
        for label, peer, loop, calls, _ in VARIANTS:
            each = peers[peer].burst(loop, calls)
            if turn >= 0:
                bursts[label].append(each)
    return {label: statistics.median(each) for label, each in bursts.items()}


def check_kept(run, peers, sessions):
    """Every tool kept what it is said to; prints what it took for that."""
    report = run.report(run.path("store", "peers"))
    hooked, made = total_calls(report), peers["hooktrace"].calls
    for loop in made:
        if loop != "off":
            expect(f"hooktrace: calls of bench_{loop}", hooked[0, f"bench_{loop}"], made[loop])
    rank = report["ranks"][0]
    expect("hooktrace: records and losses", rank["records"] + rank["lost_records"],
           sum(made[loop] for loop in ("record", "ordered", "unknown")))

    made = peers["uftrace"].calls["plain"]
    done = run.command("uftrace", "report", "-d", run.path("uftrace"), "-f", "call")
    rows = [line.split() for line in done.stdout.splitlines()]
    kept = sum(int(row[0]) for row in rows if row[1:] == ["bench_plain"])
    expect_true(f"uftrace kept {kept} of {made} calls", 0.5 * made <= kept <= made)

    events = peers["lttng"].calls["one"] + 2 * peers["lttng"].calls["pair"]
    stored = bytes_below(run.path("lttng"))
    expect_true(f"LTTng kept {stored} bytes of {events} events", stored >= 4 * events)
    expect("ltrace: lines", lines_of(run.path("ltrace"), "bench_plain"), peers["ltrace"].calls["plain"])
    expect("log: lines", lines_of(run.path("peer.log"), "bench_plain"), peers["plain"].calls["log"])
    print(f"hooktrace lost {rank['lost_records']} of {rank['records'] + rank['lost_records']} records, uftrace {made - kept} of {made}; "
          f"LTTng: {'; '.join(sessions.discarded) or 'none'}, {stored / events:.1f} bytes per event")


def show(medians):
    """Prints the table; whether every limit is met."""
    rdtsc, plain = medians["one rdtsc"], medians["plain call"]
    own = medians["hooktrace record, unordered"] - plain
    print(f"one rdtsc {rdtsc:.2f} ns, plain call {plain:.2f} ns; added per call:")
    met = True
    for label, _, _, _, limit in VARIANTS:
        if label in NOTHING:
            continue
        added = medians[label] - plain
        line = f"{label:31} +{added:10.2f} ns  {added / rdtsc:9.2f} x rdtsc  {added / own:9.2f} x hooktrace record"
        if limit:
            holds = added / own >= limit
            line += f"   limit {limit:.1f} x"
            if label in BESIDE_READS:
                reads, least = BESIDE_READS[label]
                beside = (added - reads * rdtsc) / max(own - RECORD_READS * rdtsc, 1)
                holds |= beside >= least
                line += f", or {least:.1f} x beside the clock, {beside:.1f} x"
            met &= holds
            line += "  met" if holds else f"  MISSED by {(1 - added / own / limit) * 100:.0f} %"
        print(line)
    return met


def test(run: Run, rounds="301"):
    missing = [tool for tool in ("lttng", "lttng-sessiond", "uftrace", "ltrace") if not shutil.which(tool)]
    if missing or not os.path.exists(os.path.join(run.build, "tests", "bench", "peers", "bench_peer_lttng")):
        print(f"skipped: {', '.join(missing) or 'bench_peer_lttng'} is missing; deploy/install.sh --long installs the peers")
        sys.exit(77)
    with contextlib.ExitStack() as stack:
        sessions = stack.enter_context(Sessions(run))
        peers = start(run, stack)
        medians = measure(peers, int(rounds))
        for peer in peers.values():
            peer.end()
        sessions.stop()
        met = show(medians)
        check_kept(run, peers, sessions)
    expect("within the limits", met, True)


if __name__ == "__main__":
    main(test)
