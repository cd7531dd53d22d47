#!/usr/bin/python3
"""/metrics of a collector: both formats are valid, agree with the report, never decrease, and are served to authorised clients; ten
thousand connections that ask for nothing do no harm.
"""
import contextlib
import os
import resource
import shutil
import socket
import ssl
import subprocess
import urllib.parse

import loop
from harness import TIMEOUT, Failure, end_process, expect, expect_true, main, wait_for
from nodes import Node, finish, root_and_leaves
from scrape import OPENMETRICS, bounds_around, get, scrape, url_of

RANKS = 2
ROUNDS = 2000
FUNCTION = "calls_inner"  # the only one of its domain
DOMAIN = "user"
CONNECTIONS = 10000
OFTEN = 1000  # connections between two looks
FILES_SPARE = 500
RSS_MORE = 16 << 20
# Names that must not break a line, a label or a terminal.
ODD_DIRECTORY = b'o"d\\d\n\x1b[31m\xff{}'


def start_ranks(run, node, job, rounds, program):
    commands = []
    for rank in range(RANKS):
        env = {**loop.agent_environment(run, job), "HOOK_RANK": str(rank), "HOOK_WORLD_SIZE": str(RANKS)}
        commands.append(node.popen(program, "--loop", run.path(f"{job}-{rank}"), rounds, env=env))
    return commands


def odd_program(run):
    """The program under a hostile name."""
    directory = os.path.join(os.fsencode(run.directory), ODD_DIRECTORY)
    os.mkdir(directory)
    program = os.path.join(directory, loop.LIBRARY.encode())
    shutil.copy(run.workload(loop.LIBRARY), program)
    return os.fsdecode(program)


def check_formats(url):
    """What the other programs' parsers make of a page, and that both formats have the same series."""
    def both():
        # One may be older than the other, by less than a second.
        pages = scrape(url), scrape(url, OPENMETRICS)
        return pages if set(pages[0].samples) == set(pages[1].samples) else None
    text, open_page = wait_for("both formats to have the same series", both)
    lint = subprocess.run(["promtool", "check", "metrics"], input=text.text, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    expect("what promtool says", (lint.returncode, lint.stdout), (0, ""))
    expect_true("OpenMetrics has an end", open_page.text.endswith("\n# EOF\n"))
    expect_true("no byte that a terminal acts upon", all(c.isprintable() or c == "\n" for c in text.text))
    return text


def check_report(page, report, job):
    """Counts, errors and times of every rank and domain, and quantiles within the bucket they lie in."""
    sums = {}
    for row in report["calls"]:
        key = str(row["rank"]), row["role"], row["domain"]
        calls, total, most = sums.get(key, (0, 0, 0))
        sums[key] = calls + row["calls"], total + row["total_ns"], max(most, row["max_ns"])
    expect_true("several domains", len({key[2] for key in sums}) > 1)
    for (rank, role, domain), (calls, total, _) in sums.items():
        labels = {"hook_job": job, "rank": rank, "role": role, "domain": domain}
        expect(f"calls {labels}", page.value("hook_calls_total", **labels), calls)
        expect(f"timed calls {labels}", page.value("hook_call_duration_seconds_count", **labels), calls)
        expect_true(f"time {labels}", abs(page.value("hook_call_duration_seconds_sum", **labels) - total / 1e9) < 1e-8)
    for row in report["calls"]:
        if row["function"] != FUNCTION:
            continue
        expect("the domain's only function", sums[str(row["rank"]), row["role"], DOMAIN][0], row["calls"])
        for share, quantile in ((0.5, row["p50_ns"]), (0.99, row["p99_ns"])):
            low, high = bounds_around(quantile / 1e9)
            buckets = {dict(labels)["le"]: value for labels, value in
                       page.find("hook_call_duration_seconds_bucket", hook_job=job, rank=str(row["rank"]), domain=DOMAIN).items()}
            below = buckets.get(f"{low:.9f}".rstrip("0"), 0)
            up_to = buckets[f"{high:.9f}".rstrip("0")]
            expect_true(f"rank {row['rank']}: {share} of {row['calls']} is between {low} ({below}) and {high} s ({up_to})",
                        below <= share * row["calls"] <= up_to + 1)


def check_life(run, node):
    """Counters rise while a job runs, across the death of its collector, and stay when it ends."""
    url = url_of(node)
    commands = start_ranks(run, node, "life", ROUNDS * 50, odd_program(run))
    for rank in range(RANKS):
        loop.wait_rounds(run.path(f"life-{rank}"), 100)
    wait_for("both ranks to be up", lambda: sum(scrape(url).find("hook_rank_up", hook_job="life").values()) == RANKS)
    page = check_formats(url)
    before = page.counters("life")
    expect("the job runs", page.value("hook_job_running", hook_job="life"), 1)
    expect_true("programs are named", all('o"d\\d' in dict(labels)["program"] for labels in page.find("hook_rank_info", hook_job="life")))
    node.kill()
    node.start()
    url = url_of(node)

    def not_back():
        after = scrape(url).counters("life")
        gone = [(key, value, after.get(key)) for key, value in before.items() if after.get(key, -1) < value]
        expect("counters that went back", gone[:3], [])
        return after

    before = not_back()
    calls = [key for key in before if key[0] == "hook_calls_total"]
    wait_for("calls to go on", lambda: any(not_back()[key] > before[key] for key in calls))
    for command in commands:
        end_process(command)
    node.closed_report("life")
    page = scrape(url)
    expect("the job has ended", page.value("hook_job_running", hook_job="life"), 0)
    not_back()


def check_truth(run, node):
    for command in start_ranks(run, node, "truth", ROUNDS, run.workload(loop.LIBRARY)):
        finish(command, "rank", run.path("job.log"))
    report = node.closed_report("truth")
    page = check_formats(url_of(node))
    check_report(page, report, "truth")
    expect("no series was dropped", page.value("hook_metrics_series_dropped"), 0)


def answer_to(url, request):
    """The first line of the answer to the bytes of REQUEST."""
    parts = urllib.parse.urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=TIMEOUT) as stream:
        with contextlib.suppress(ConnectionError):
            stream.sendall(request)
        return stream.makefile("rb").readline().decode().strip()


def check_requests(url):
    root = url.rpartition("/")[0]
    expect("HEAD", (get(url, method="HEAD").status, get(url, method="HEAD").text), (200, ""))
    expect("another page", get(f"{root}/other").status, 404)
    expect("POST", get(url, method="POST").status, 405)
    expect("/healthz", get(f"{root}/healthz").text, "ok\n")
    expect("no request", answer_to(url, b"what?\r\n\r\n"), "HTTP/1.1 400 Bad Request")
    expect("a long one", answer_to(url, b"GET /metrics HTTP/1.1\r\n" + b"A: b\r\n" * 2000),
           "HTTP/1.1 431 Request Header Fields Too Large")
    expect("in small parts", answer_to(url, b"GET /metrics HTTP/1.0\n\n"), "HTTP/1.1 200 OK")


def rss_of(collector):
    with open(f"/proc/{collector.pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def check_crowd(node):
    """Connections that never ask: they go when others come, and take neither memory nor files."""
    url = url_of(node)
    parts = urllib.parse.urlsplit(url)
    scrape(url)
    files, rss = len(os.listdir(f"/proc/{node.collector.pid}/fd")), rss_of(node.collector)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    at_once = min(CONNECTIONS, hard - FILES_SPARE)
    streams, most_files = [], 0
    for number in range(CONNECTIONS):
        stream = socket.create_connection((parts.hostname, parts.port), timeout=TIMEOUT)
        stream.sendall(b"GET /metrics HT")
        streams.append(stream)
        if len(streams) > at_once:
            streams.pop(0).close()
        if number % OFTEN == OFTEN - 1:
            expect("a scrape among them", get(url).status, 200)
            most_files = max(most_files, len(os.listdir(f"/proc/{node.collector.pid}/fd")))
    for stream in streams:
        stream.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    wait_for("their files to be closed", lambda: len(os.listdir(f"/proc/{node.collector.pid}/fd")) <= files + 2)
    # NNG closes what it was given back a little later.
    expect_true(f"files open at one time: {most_files}, {files} before, of {at_once}", most_files < files + at_once / 2)
    more = rss_of(node.collector) - rss
    print(f"after {CONNECTIONS} connections: RSS {more / 2**20:+.1f} MiB, at most {most_files - files} more files")
    expect_true(f"resident memory: {more} bytes more", more < RSS_MORE)
    expect_true("they are counted", scrape(url).value("hook_collector_refusals_total") > CONNECTIONS / 2)
    lines = [line for line in node.said().splitlines() if "too many connections" in line]
    expect_true(f"they are told of once: {lines}", 1 <= len(lines) <= 3)


def check_nodes(run):
    """A root shows what its leaf's ranks do, as the leaf does."""
    root, (leaf,) = root_and_leaves(run, ["leaf"], ["--http", "127.0.0.1:0"], ["--http", "127.0.0.1:0"])
    wait_for("the leaf to be connected", lambda: scrape(url_of(leaf)).value("hook_collector_upstream_connected") == 1)
    for command in start_ranks(run, leaf, "nodes", ROUNDS, run.workload(loop.LIBRARY)):
        finish(command, "rank", run.path("job.log"))
    report = root.closed_report("nodes")
    page = scrape(url_of(root))
    check_report(page, report, "nodes")
    expect_true("errors of clocks", all(value > 0 for value in page.find("hook_clock_error_seconds", role="main").values()))
    calls = [sum(one.find("hook_calls_total", hook_job="nodes").values()) for one in (page, scrape(url_of(leaf)))]
    expect("calls that root and leaf show", calls, [sum(row["calls"] for row in report["calls"])] * 2)


def does_not_start(run, options, why):
    done = run.command(run.binary("hookcollector"), "--store", run.path("none"), *options, check=False)
    expect_true(f"{options}: {done.stderr}", done.returncode == 1 and why in done.stderr)


def bearer(path):
    with open(path, encoding="ascii") as file:
        return {"Authorization": f"Bearer {file.read().split()[1]}"}


def check_access(run):
    """Beyond loopback only with TLS and a token; on loopback a token where there are any."""
    keys = run.path("keys")
    run.command(run.binary("hookcollector"), "keygen", keys)
    tls = ["--tls-cert", f"{keys}/collector.crt", "--tls-key", f"{keys}/collector.key"]
    tokens = ["--token-file", f"{keys}/tokens"]
    does_not_start(run, ["--http", "0.0.0.0:0"], "only with TLS and a token")
    does_not_start(run, ["--http", "0.0.0.0:0", *tokens], "--tls-cert")
    does_not_start(run, ["--http", "0.0.0.0:0", *tls], "--token-file")
    done = run.command(run.binary("hookcollector"), "--http", "4441", check=False)
    expect_true(f"no address: {done.stderr}", done.returncode == 2 and "ADDRESS:PORT" in done.stderr)
    for name, address, options in (("open", "0.0.0.0", [*tls, *tokens]), ("near", "127.0.0.1", tokens)):
        node = Node(run, name, ["--http", f"{address}:0", *options]).start()
        url = url_of(node).replace("0.0.0.0", "127.0.0.1")
        expect("scheme", url.partition(":")[0], "https" if name == "open" else "http")
        trust = {"authorities": f"{keys}/collector.crt"} if name == "open" else {}
        for headers in ({}, {"Authorization": "Bearer read-read-read-read"}, {"Authorization": "Basic abc"}):
            answer = get(url, headers, **trust)
            expect(f"{name}: {headers}", (answer.status, answer.headers["WWW-Authenticate"]), (401, 'Bearer realm="hooktrace"'))
        for token in ("read.token", "control.token"):
            expect(f"{name}: {token}", get(url, bearer(f"{keys}/{token}"), **trust).status, 200)
        expect("health is no secret", get(url.replace("/metrics", "/healthz"), **trust).status, 200)
        page = scrape(url, bearer(f"{keys}/read.token"), **trust)
        expect("refusals", page.value("hook_collector_refusals_total"), 3)
        wait_for("the log to say so", lambda node=node: "no token, or a wrong one" in node.said())
        if name == "open":
            expect_true("without TLS there is no answer", "200" not in answer_to(url, b"GET /metrics HTTP/1.1\r\n\r\n"))
            try:
                get(url)
                raise Failure("a certificate that nobody trusts was trusted")
            except ssl.SSLError:
                pass
        node.kill()


def expired(run):
    """A certificate that was good until yesterday, with its key."""
    key, crt = run.path("old.key"), run.path("old.crt")
    run.command("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key)
    run.command("openssl", "req", "-new", "-key", key, "-subj", "/CN=old", "-out", run.path("old.csr"))
    run.command("openssl", "x509", "-req", "-in", run.path("old.csr"), "-signkey", key, "-days", "-1", "-out", crt)
    return crt, key


def check_certificates(run):
    """A collector that asks for certificates shows metrics to clients with a good one and a token, each their own jobs."""
    keys, clients, strangers = run.path("keys"), run.path("clients"), run.path("strangers")
    for place in (clients, strangers):
        run.command(run.binary("hookcollector"), "keygen", place)
    old = expired(run)
    trusted, tokens = run.path("trusted.crt"), run.path("user.tokens")
    with open(trusted, "w", encoding="ascii") as out:
        for path in (f"{clients}/collector.crt", old[0]):
            with open(path, encoding="ascii") as file:
                out.write(file.read())
    with open(tokens, "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as out:
        out.write("read everybody-s-jobs\nread her-own-jobs-only alice\n")
    node = Node(run, "asks", ["--http", "0.0.0.0:0", "--tls-cert", f"{keys}/collector.crt", "--tls-key", f"{keys}/collector.key",
                              "--tls-ca", trusted, "--token-file", tokens]).start()
    for command in start_ranks(run, node, "seen", 10, run.workload(loop.LIBRARY)):
        finish(command, "rank", run.path("job.log"))
    node.closed_report("seen")
    url = url_of(node).replace("0.0.0.0", "127.0.0.1")
    good = {"authorities": f"{keys}/collector.crt", "shown": (f"{clients}/collector.crt", f"{clients}/collector.key")}
    for token, jobs in (("everybody-s-jobs", {"seen"}), ("her-own-jobs-only", set())):
        page = scrape(url, {"Authorization": f"Bearer {token}"}, **good)
        expect(f"jobs with {token}", {dict(labels)["hook_job"] for labels in page.find("hook_calls_total")}, jobs)
    for token in ("", "her-own-jobs-onl", "her-own-jobs-only alice", "her-own-jobs-only" * 20):
        expect(f"token {token!r}", get(url, {"Authorization": f"Bearer {token}"}, **good).status, 401)
    headers = {"Authorization": "Bearer everybody-s-jobs"}
    for what, shown in (("none", None), ("a stranger's", (f"{strangers}/collector.crt", f"{strangers}/collector.key")), ("an old one", old)):
        try:
            answer = get(url, headers, **{**good, "shown": shown})
            raise Failure(f"certificate: {what}: {answer.status}")
        except OSError:
            pass
    wait_for("the log to say so", lambda: "http: no TLS, or a certificate that is not trusted" in node.said())
    expect("a good one after all that", get(url, headers, **good).status, 200)
    end_process(node.collector)


def test(run):
    node = Node(run, "here", ["--http", "127.0.0.1:0"]).start()
    check_formats(url_of(node))
    check_requests(url_of(node))
    check_truth(run, node)
    check_life(run, node)
    check_crowd(node)
    check_nodes(run)
    check_access(run)
    check_certificates(run)


if __name__ == "__main__":
    main(test)
