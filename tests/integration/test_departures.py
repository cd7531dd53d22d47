#!/usr/bin/python3
"""A process that leaves its user, root directory or mount namespace behind is traced like any other; one that can have no segment is named."""
import collections
import http.client
import os
import shutil
import signal
import socket
import subprocess

from harness import expect, expect_true, main, wait_for

# Numbers of life/departures.c.
CHILDREN, CALLS, STORM, THREADS = 3, 1000, 100_000, 100
DEPTH = 3  # generations below the first process without a segment
NAMED, CROWD = 64, 70  # entries of a segment (proto/PROTOCOL.md), and more processes than that
NO_CALL, SLOWER = 77, 10  # the kernel refused; a hooked call that finds no segment takes more than 30 times as long
REQUESTS, WORKERS = 50, 2
NGINX = """
daemon off; user nobody nogroup; worker_processes {workers}; pid {place}/pid; error_log {place}/error;
events {{ worker_connections 64; }}
http {{
  access_log {place}/access; keepalive_timeout 0;
  client_body_temp_path {place}/body; proxy_temp_path {place}/proxy; fastcgi_temp_path {place}/fastcgi;
  uwsgi_temp_path {place}/uwsgi; scgi_temp_path {place}/scgi;
  server {{ listen unix:{place}/socket; location / {{ return 200 "hello"; }} }}
}}
"""


def program(run):
    return os.path.join(run.build, "tests", "integration", "life", "departures")


def trace(run, case, way, *words, level="record"):
    """Output, summary and report of the case; None: the kernel here forbids this way to leave."""
    name = "-".join((case, way, level, *map(str, words)))
    done = run.trace(program(run), case, way, run.run_directory, *words, hooks=["*:life_*"], level=level, options=("--job", name), check=False)
    if done.returncode == NO_CALL or f"child ended with {NO_CALL}" in done.stdout:
        return None
    expect(f"{name}: exit status ({done.stderr[-500:]})", done.returncode, 0)
    return done.stdout, done.stderr, run.report(run.path("store", name))


def calls(report, role):
    return sum(row["calls"] for row in report["calls"] if row["role"] == role)


def check_children(run, way):
    """Before its first call each child is where no segment can be made."""
    for level in ("count", "record"):
        traced = trace(run, "children", way, level=level)
        if traced is None:
            print(f"not tried: {way}")
            return
        report = traced[2]
        expect(f"{way} at {level}: calls of the children", calls(report, "helper"), CHILDREN * CALLS)
        expect(f"{way} at {level}: processes", collections.Counter((row["role"], row["note"]) for row in report["processes"]),
               collections.Counter({("main", ""): 1, ("helper", ""): CHILDREN}))
        if level == "record":
            expect(f"{way}: records and lost ones", sum(row["records"] for row in report["processes"]), CHILDREN * CALLS)


def check_storm(run):
    """A process that left has room for the counts of whatever thread it starts."""
    report = trace(run, "storm", "user")[2]
    expect("storm: calls", calls(report, "main"), 1 + STORM + 10 * THREADS)
    expect("storm: untracked calls", report["job"]["calls_untracked"], 0)


def check_unseen(run):
    """A process without a segment is named, with the reason, and costs nothing."""
    alone = float(run.command(program(run), "generations", "none", "", 1).stdout)
    for level in ("count", "record"):
        out, summary, report = trace(run, "generations", "user", 1, level=level)
        unseen = [row for row in report["processes"] if row["note"]]
        expect(f"at {level}: who was not seen", [(row["role"], row["exit"]["kind"], row["exit"]["code"], row["agent"]) for row in unseen],
               [("helper", "exited", 5, "off")])
        expect_true(f"at {level}: why: {unseen[0]['note']}", "Permission denied" in unseen[0]["note"])
        expect_true(f"at {level}: the summary says so: {summary}", f"pid {unseen[0]['pid']}" in summary and "Permission denied" in summary)
        expect(f"at {level}: calls that were seen", calls(report, "helper"), 2)
        expect_true(f"at {level}: a call takes {float(out)} ns, {alone} alone", float(out) <= SLOWER * alone)
    report = trace(run, "generations", "user", CROWD)[2]
    notes = collections.Counter(row["note"] for row in report["processes"])
    expect("crowd: named", max(count for note, count in notes.items() if note), NAMED)
    expect_true(f"crowd: the others are counted: {notes}", any(f"{CROWD - NAMED} more processes" in note for note in notes))


def check_descendants(run):
    """What a process without a segment forks has none either, and is named when it ends."""
    for level in ("count", "record"):
        summary, report = trace(run, "descendants", "user", DEPTH, level=level)[1:]
        unseen = [row for row in report["processes"] if row["note"]]
        expect(f"descendants at {level}", sorted((row["role"], row["exit"]["kind"], row["exit"]["code"], row["agent"]) for row in unseen),
               [("helper", "exited", generation, "off") for generation in range(1, DEPTH + 2)])
        expect(f"descendants at {level}: one entry for each process", len({row["pid"] for row in unseen}), DEPTH + 1)
        expect(f"descendants at {level}: why", {row["note"] for row in unseen}, {unseen[0]["note"]})
        expect_true(f"descendants at {level}: the summary says so: {summary}", f"{DEPTH + 1} processes not traced" in summary)


def ask(path):
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(path)
    connection.request("GET", "/")
    answer = connection.getresponse().read()
    connection.close()
    return answer


def check_nginx(run):
    """Workers of a server whose master is root, and who are not."""
    server = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    expect_true("nginx-light is not installed: see deploy/packages", server)
    place = run.path("nginx")
    os.mkdir(place)
    os.chmod(run.directory, 0o755)
    with open(run.path("nginx.conf"), "w", encoding="ascii") as file:
        file.write(NGINX.format(place=place, workers=WORKERS))
    # One writev for each answer and nothing else: what the access log counts too.
    job = subprocess.Popen([run.binary("hookcli"), "run", "-q", "--store", run.path("store"), "--job", "nginx", "--hooks", "*:writev", "--",
                            server, "-c", run.path("nginx.conf")], env=run.environment(), cwd=run.directory, stdin=subprocess.DEVNULL)
    master = os.path.join(place, "pid")
    wait_for("nginx to listen", lambda: job.poll() is not None or (os.path.exists(master) and os.path.getsize(master) > 0))
    expect("nginx has ended", job.poll(), None)
    try:
        for _ in range(REQUESTS):
            expect("answer", ask(os.path.join(place, "socket")), b"hello")
    finally:
        with open(master, encoding="ascii") as file:
            os.kill(int(file.read()), signal.SIGQUIT)
        job.wait()
    with open(os.path.join(place, "access"), encoding="ascii") as file:
        expect("nginx's own count", len(file.readlines()), REQUESTS)
    report = run.report(run.path("store", "nginx"))
    expect("answers seen", sum(row["calls"] for row in report["calls"] if row["function"] == "writev"), REQUESTS)
    expect("nginx's processes", collections.Counter((row["role"], row["note"]) for row in report["processes"]),
           collections.Counter({("main", ""): 1, ("helper", ""): WORKERS}))


def test(run):
    if os.geteuid() != 0:
        print("skipped: only root can leave its user")
        raise SystemExit(NO_CALL)
    for way in ("user", "users", "root", "mount"):
        check_children(run, way)
    check_storm(run)
    check_unseen(run)
    check_descendants(run)
    check_nginx(run)


if __name__ == "__main__":
    main(test)
