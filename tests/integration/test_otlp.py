#!/usr/bin/python3
"""Metrics pushed by OTLP/HTTP, as OpenTelemetry's own package decodes them: they are those of the page and of the report; what receivers that
fail, lie or are not there do to the collector.
"""
import contextlib
import math
import os
import signal
import socket
import threading
import time

import loop
import otlp
from harness import end_process, expect, expect_true, main, wait_for
from nodes import Node, finish
from scrape import scrape, url_of
from test_metrics import DOMAIN, FUNCTION, RANKS, ROUNDS, start_ranks

INTERVAL = "0.1s"
OPTIONS = ["--http", "127.0.0.1:0", "--otlp-interval", INTERVAL]
TOKEN = "Bearer secret-of-the-collector"
REJECTED = 7
SLOW = "no answer in time"  # which a busy machine may cause at any time
HUGE = 1 << 30
HUGE_PART = b"x" * (1 << 16)


def node_of(run, name, receiver, *options):
    return Node(run, name, [*OPTIONS, "--otlp", f"http://127.0.0.1:{receiver.port}", *options]).start()


def own(node, name):
    return scrape(url_of(node)).value(f"hook_collector_otlp_{name}")


def wait_pushes(node, more=1):
    """Waits until as many pushes MORE were taken."""
    before = own(node, "pushes_total")
    wait_for(f"{more} pushes", lambda: own(node, "pushes_total") >= before + more)


@contextlib.contextmanager
def idle(run, node):
    """A traced process, for which a collector looks around more often than without one."""
    process = node.popen("tail", "-f", "/dev/null", env=loop.agent_environment(run, "idle"))
    wait_for("it to be known", lambda: scrape(url_of(node)).find("hook_job_running", hook_job="idle"))
    try:
        yield
    finally:
        end_process(process)


def refused(run):
    """Options that are wrong: one line, exit 2."""
    for options, why in ((["--otlp", "localhost:4318"], "http[s]://HOST"), (["--otlp", "http://user:key@host"], "http[s]://HOST"),
                         (["--otlp", "http://host/a b"], "http[s]://HOST"), (["--otlp-interval", "0"], "seconds from 0.1s")):
        done = run.command(run.binary("hookcollector"), *options, check=False)
        expect_true(f"{options}: {done.stderr}", done.returncode == 2 and why in done.stderr and done.stderr.count("\n") == 1)


def check_headers(run):
    """Headers come from a file that no one else may read, with lines that may be set."""
    path = run.path("headers")
    for text, mode, why in ((f"Authorization: {TOKEN}\n", 0o644, "chmod 600"), ("Content-Length: 1\n", 0o600, "headers:1: not 'NAME: VALUE'"),
                            (f"# x\n{TOKEN}\n", 0o600, "headers:2: not 'NAME: VALUE'")):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, mode)
        done = run.command(run.binary("hookcollector"), "--store", run.path("none"), "--otlp", "http://127.0.0.1:9", "--otlp-headers", path,
                           check=False)
        expect_true(f"{text!r}: {done.stderr}", done.returncode == 1 and why in done.stderr and "secret" not in done.stderr)
    with open(path, "w", encoding="ascii") as file:
        file.write(f"# of the receiver\n\nAuthorization: {TOKEN}\r\nX-Scope-OrgID:  a b \n")
    os.chmod(path, 0o600)
    return path


def settled(message, page):
    """Those samples of both that do not change by themselves."""
    def keep(samples):
        return {key: value for key, value in samples.items() if dict(key[1]).get("hook_job") or key[0] == "hook_build_info"}
    return keep(message.samples), keep(page.samples)


def check_truth(run, schema, receiver, node):
    """All of a closed job's samples are those of the page, and its calls those of the report."""
    for command in start_ranks(run, node, "truth", ROUNDS, run.workload("calls_truth")):
        finish(command, "rank", run.path("job.log"))
    report = node.closed_report("truth")
    wait_pushes(node, 2)
    page = scrape(url_of(node))
    path, headers, body = receiver.last()
    message = otlp.Message(schema, body)
    expect("where it was sent", (path, headers["Content-Type"]), ("/v1/metrics", otlp.TYPE))
    expect("headers", (headers["Authorization"], headers["X-Scope-OrgID"]), (TOKEN, "a b"))
    expect("resource", (message.resource["service.name"], message.resource["host.name"]), ("hooktrace", socket.gethostname()))
    expect_true("its version", message.resource["service.version"] in run.cli("--version").stdout)
    expect("its instance", len(message.resource["service.instance.id"]), 32)
    got, shown = settled(message, page)
    expect("samples of one only", sorted(set(got) ^ set(shown), key=str)[:4], [])
    # The page has 16 digits of a number.
    apart = [(key, value, shown[key]) for key, value in got.items() if not math.isclose(value, shown[key], rel_tol=1e-12, abs_tol=1e-8)]
    expect("samples that differ", apart[:4], [])
    expect_true(f"{len(got)} samples", len(got) > 200)
    expect("samples of the collector itself", {key for key in message.samples if key not in got}, {key for key in page.samples if key not in shown})
    expect("times of points", len(message.times), 1)
    began = message.starts["hook_calls", "truth"] / 1e9
    expect_true(f"when the job began: {began}", abs(began - page.value("hook_job_start_time_seconds", hook_job="truth")) < 1e-6)
    metrics = message.metrics
    expect("units", [metrics[name].unit for name in ("hook_busy_seconds", "hook_call_bytes", "hook_calls")], ["s", "By", ""])
    for rank in range(RANKS):
        labels = {"hook_job": "truth", "rank": str(rank), "role": "main", "domain": DOMAIN}
        calls = [value for (name, key), value in message.samples.items() if name == "hook_calls_total" and key >= labels.items()]
        expect(f"calls of rank {rank}", calls, [sum(row["calls"] for row in report["calls"] if (row["rank"], row["function"]) == (rank, FUNCTION))])


def check_partial(schema, receiver, node):
    """Rejected points are counted, and said once with the receiver's reason."""
    partial = schema.partial(rejected_data_points=REJECTED, error_message="too \x1b[31mold")
    body = schema.response(partial_success=partial).SerializeToString()
    # In chunks, behind an answer that is none yet.
    chunks = b"".join(b"%x;a=b\r\n%c\r\n" % (1, byte) for byte in body) + b"0\r\n\r\n"
    receiver.answer = lambda handler: handler.wfile.write(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
    wait_for("points to be rejected", lambda: own(node, "rejected_points_total") >= 3 * REJECTED)
    receiver.answer = otlp.taken
    lines = [line for line in node.said().splitlines() if "has rejected" in line]
    expect_true(f"said once: {lines}", len(lines) == 1 and f"has rejected {REJECTED} data points" in lines[0] and "too ?[31mold" in lines[0])
    wait_pushes(node)


def fails(node, receiver, answer, said, times=1):
    """What ANSWER does is counted and said once, and the next success ends it. TIMES: failures at least."""
    failures, lines, ends = own(node, "failures_total"), node.said().count(said), node.said().count("metrics are pushed to http")
    receiver.answer = answer
    wait_for(f"failures: {said}", lambda: own(node, "failures_total") >= failures + times)
    expect(f"{said}: the last push", own(node, "accepted"), 0)
    receiver.answer = otlp.taken
    wait_for("a push that is taken", lambda: own(node, "accepted") == 1)
    expect_true(f"{said}: said once in\n{node.said()[-600:]}", node.said().count(said) == lines + 1 or said == SLOW)
    expect_true("its end is said", node.said().count("metrics are pushed to http") > ends)


def huge(handler):
    """Endless bytes, as fast as they are taken."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % HUGE)
    with contextlib.suppress(OSError):
        for _ in range(HUGE // len(HUGE_PART)):
            handler.wfile.write(HUGE_PART)


def fields(handler):
    """A head without an end."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    with contextlib.suppress(OSError):
        for _ in range(HUGE // len(HUGE_PART)):
            handler.wfile.write(b"A: b\r\n" * 4096)


def check_failures(node, receiver):
    fails(node, receiver, lambda handler: otlp.reply(handler, 400, b"\x12\x05wrong"), "answer 400: wrong", times=3)
    fails(node, receiver, lambda handler: otlp.reply(handler, 200, b"<html>a page</html>"), "not that of a receiver")
    fails(node, receiver, lambda handler: None if handler.connection.shutdown(socket.SHUT_RDWR) else None, "closed the connection")
    fails(node, receiver, huge, "the answer is too long")
    fails(node, receiver, fields, "the answer is too long")


def check_silence(node, receiver):
    """A receiver that does not answer costs no more than a push; the collector answers meanwhile."""
    over = threading.Event()
    fails(node, receiver, lambda handler: over.wait(), SLOW)
    over.set()


def check_retry_after(node, receiver):
    """Nothing is sent before the time that the receiver asks for."""
    asked, times = 1, []

    def busy(handler):
        times.append(time.monotonic())
        otlp.reply(handler, 200 if len(times) > 1 else 429, **({} if len(times) > 1 else {"Retry_After": str(asked)}))

    receiver.answer = busy
    wait_for("a push after the time that was asked for", lambda: len(times) > 1)
    expect_true(f"{times[1] - times[0]} s between them", times[1] - times[0] >= asked * 0.99)
    wait_for("a push that is taken", lambda: own(node, "accepted") == 1)
    # The longest time: its end is not awaited here.
    failures = own(node, "failures_total")
    receiver.answer = lambda handler: otlp.reply(handler, 503, Retry_After="3600")
    wait_for("the wish to be known", lambda: "answer 503, retry after 3600 s" in node.said())
    wait_for("its page", lambda: own(node, "failures_total") > failures)
    before, failures = receiver.count(), own(node, "failures_total")
    # Much time for a collector that would not wait: its own pages are made meanwhile.
    for _ in range(3):
        page = scrape(url_of(node)).text
        wait_for("a newer page", lambda page=page: scrape(url_of(node)).text != page)
    expect("pushes meanwhile", (receiver.count(), own(node, "failures_total")), (before, failures))


def check_absent(run):
    """A receiver that comes later, by a name that has addresses of both families."""
    with contextlib.closing(socket.socket()) as taken:
        # Bound and not listening: no one else gets the port, and no one answers.
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        node = Node(run, "absent", [*OPTIONS, "--otlp", f"http://localhost:{port}/base/"]).start()
        wait_for("failures", lambda: own(node, "failures_total") >= 2)
        expect_true(f"said once: {node.said()}", node.said().count("there is no listener") == 1)
        with otlp.receiver(port=port) as receiver:
            wait_for("a push", receiver.count)
            expect("its path", receiver.last()[0], "/base/v1/metrics")
            wait_for("its end to be said", lambda: "again, after" in node.said())
    node.kill()


def tls_node(run, name, port, authority):
    return Node(run, name, [*OPTIONS, "--otlp", f"https://localhost:{port}", "--otlp-ca", run.path(f"{authority}.crt")]).start()


def check_tls(run):
    """A certificate is checked: its signer and its name. A handshake that does not come is given up."""
    for name, alternative in {"localhost": "DNS:localhost", "other": "DNS:other.example"}.items():
        run.command("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", f"/CN={name}", "-addext", f"subjectAltName={alternative}", "-keyout", run.path(f"{name}.key"),
                    "-out", run.path(f"{name}.crt"))
    with contextlib.ExitStack() as stack:
        silent = stack.enter_context(contextlib.closing(socket.create_server(("127.0.0.1", 0))))
        waits = tls_node(run, "silent", silent.getsockname()[1], "localhost")
        started = []
        for name, authority in (("localhost", "localhost"), ("localhost", "other"), ("other", "other")):
            receiver = stack.enter_context(otlp.receiver(keys=(run.path(f"{name}.crt"), run.path(f"{name}.key"))))
            started.append((receiver, tls_node(run, f"{name}-{authority}", receiver.port, authority)))
        (_, good), *bad = started
        wait_for("pushes by TLS", lambda: own(good, "pushes_total") >= 2)
        for receiver, node in bad:
            wait_for("a failure of TLS", lambda node=node: "TLS failed" in node.said())
            expect("pushes with a wrong certificate", receiver.count(), 0)
        for _, node in started:
            node.kill()
        for _ in range(2):
            stack.enter_context(silent.accept()[0])
        expect_true("the time of a handshake is over", SLOW in waits.said())
        # A collector that ends while a handshake is under way.
        end_process(waits.collector, signal.SIGTERM)
        expect("exit", waits.collector.returncode, 0)
    done = run.command(run.binary("hookcollector"), "--store", run.path("none"), "--otlp", "https://localhost:1", "--otlp-ca", "/none",
                       check=False)
    expect_true(f"no authorities: {done.stderr}", done.returncode == 1 and "/none" in done.stderr)


def test(run):
    refused(run)
    headers = check_headers(run)
    schema = otlp.Schema(run)
    with otlp.receiver() as receiver:
        node = node_of(run, "one", receiver, "--otlp-headers", headers)
        check_truth(run, schema, receiver, node)
        with idle(run, node):
            check_partial(schema, receiver, node)
            check_failures(node, receiver)
            check_silence(node, receiver)
            check_retry_after(node, receiver)
        node.kill()
    check_absent(run)
    check_tls(run)


if __name__ == "__main__":
    main(test)
