#!/usr/bin/python3
"""A real Prometheus, with the configuration and the rules of deploy/prometheus, scrapes a collector on loopback and one beyond it, with TLS
and a token; quantiles over all ranks are those of the report.
"""
import json
import os
import shutil
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import loop
from harness import TIMEOUT, expect, expect_true, main, wait_for
from nodes import Node, finish
from scrape import bounds_around, url_of
from test_metrics import DOMAIN, FUNCTION, RANKS, start_ranks

ROUNDS = 3000
DEPLOY = os.path.join(os.path.dirname(__file__), "..", "..", "deploy", "prometheus")


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Prometheus:
    """A server of its own, on a port that was free."""

    def __init__(self, run, name, config):
        self.run = run
        self.directory = run.path(name)
        os.mkdir(self.directory)
        shutil.copy(os.path.join(DEPLOY, "hooktrace.rules.yml"), self.directory)
        with open(os.path.join(self.directory, "prometheus.yml"), "w", encoding="utf-8") as file:
            file.write(config)
        self.server = None
        # Another may take the port meanwhile: then it says so and ends.
        wait_for("Prometheus to be ready", self.is_ready)

    def is_ready(self):
        if self.server is None or self.server.poll() is not None:
            self.url = f"http://127.0.0.1:{free_port()}"
            with open(os.path.join(self.directory, "log"), "ab") as log:
                self.server = subprocess.Popen(
                    ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data",
                     f"--web.listen-address={urllib.parse.urlsplit(self.url).netloc}"],
                    cwd=self.directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            self.run.collectors.append(self.server)  # ends with the test
        try:
            return self.get("/-/ready")
        except (urllib.error.URLError, ConnectionError):
            return None

    def get(self, path, **query):
        with urllib.request.urlopen(f"{self.url}{path}?{urllib.parse.urlencode(query)}", timeout=TIMEOUT) as answer:
            return answer.read().decode()

    def last_error(self):
        """What was wrong with the last scrape; a busy machine may be late for one."""
        return json.loads(self.get("/api/v1/targets"))["data"]["activeTargets"][0]["lastError"]

    def query(self, expression):
        """[(labels, value)] of an expression now."""
        result = json.loads(self.get("/api/v1/query", query=expression))["data"]["result"]
        return [(row["metric"], float(row["value"][1])) for row in result]

    def value(self, expression):
        """The one value there is, None: there is none, as after a scrape that failed."""
        found = self.query(expression)
        return found[0][1] if len(found) == 1 else None

    def number(self, expression):
        def look():
            found = self.query(expression)
            return [value for _, value in found] if len(found) == 1 else None
        return wait_for(f"a value of {expression}", look)[0]


def shipped(name, **replaced):
    """A shipped configuration with some of its words replaced, and a second between scrapes."""
    with open(os.path.join(DEPLOY, name), encoding="utf-8") as file:
        text = file.read()
    for old, new in {"15s": "1s", **replaced}.items():
        expect_true(f"{name} has {old}", old in text)
        text = text.replace(old, new)
    return text


def netloc(node):
    return urllib.parse.urlsplit(url_of(node)).netloc


def check_quantiles(prometheus, report):
    """What the buckets of all ranks come to against the quantiles of each: those of all lie between them."""
    rows = [row for row in report["calls"] if row["function"] == FUNCTION]
    expect("ranks", sorted(row["rank"] for row in rows), list(range(RANKS)))
    calls = sum(row["calls"] for row in rows)
    series = f'hook_call_duration_seconds_bucket{{hook_job="j",domain="{DOMAIN}",role="main"'
    wait_for("all calls to be scraped", lambda: prometheus.value(f'sum({series},le="+Inf"}})') == calls)
    for share, key in ((0.5, "p50_ns"), (0.99, "p99_ns")):
        got = prometheus.number(f"histogram_quantile({share}, sum by (le) ({series}}}))")
        quantiles = [row[key] / 1e9 for row in rows]
        low, high = bounds_around(min(quantiles))[0], bounds_around(max(quantiles))[1]
        expect_true(f"{share} of all ranks: {got} s, reported {quantiles}, in buckets from {low} to {high} s", low <= got <= high)
        for row in rows:
            got = prometheus.number(f'histogram_quantile({share}, {series},rank="{row["rank"]}"}})')
            low, high = bounds_around(row[key] / 1e9)
            expect_true(f"{share} of rank {row['rank']}: {got} s, reported {row[key]} ns, in {low} to {high} s", low <= got <= high)


def check_near(run):
    """On one machine, over the life of a job."""
    node = Node(run, "near", ["--http", "127.0.0.1:0"]).start()
    prometheus = Prometheus(run, "prometheus-near", shipped("prometheus.yml", **{"127.0.0.1:4441": netloc(node)}))
    wait_for("a scrape", lambda: prometheus.value('up{job="hooktrace"}') == 1)
    for command in start_ranks(run, node, "j", ROUNDS, run.workload(loop.LIBRARY)):
        finish(command, "rank", run.path("job.log"))
    report = node.closed_report("j")
    check_quantiles(prometheus, report)
    wait_for("the job's end to be scraped", lambda: prometheus.value('hook_job_running{hook_job="j"}') == 0)
    total = sum(row["calls"] for row in report["calls"])
    expect("all calls", prometheus.number('sum(hook_calls_total{hook_job="j"})'), total)
    expect("by function", prometheus.number('sum(hook_function_calls_total{hook_job="j"})'), total)
    rules = json.loads(prometheus.get("/api/v1/rules"))["data"]["groups"][0]["rules"]
    expect("rules that cannot be evaluated", [(rule["name"], rule["health"]) for rule in rules if rule["health"] == "err"], [])
    wait_for("a scrape with nothing wrong", lambda: prometheus.last_error() == "")
    node.kill()
    wait_for("Prometheus to miss it", lambda: prometheus.value('up{job="hooktrace"}') == 0)


def check_far(run):
    """Over TLS with a token, as prometheus-nodes.yml says; without the token nothing is shown."""
    keys = run.path("keys")
    run.command(run.binary("hookcollector"), "keygen", keys)
    node = Node(run, "far", ["--http", "0.0.0.0:0", "--tls-cert", f"{keys}/collector.crt", "--tls-key", f"{keys}/collector.key",
                             "--token-file", f"{keys}/tokens"]).start()
    with open(f"{keys}/read.token", encoding="ascii") as file, open(f"{keys}/read.bearer", "w", encoding="ascii") as alone:
        alone.write(next(line.split()[1] for line in file if line.startswith("read")) + "\n")
    with open(f"{keys}/wrong.bearer", "w", encoding="ascii") as wrong:
        wrong.write("read-read-read-read\n")
    for name, token, up in (("good", "read.bearer", 1), ("wrong", "wrong.bearer", 0)):
        config = shipped("prometheus-nodes.yml", **{"/etc/prometheus/hooktrace/read.bearer": f"{keys}/{token}",
                                                    "/etc/prometheus/hooktrace/collector.crt": f"{keys}/collector.crt",
                                                    "head:4441": netloc(node).replace("0.0.0.0", "127.0.0.1")})
        prometheus = Prometheus(run, f"prometheus-{name}", config)
        wait_for(f"a scrape with a {name} token",
                 lambda prometheus=prometheus, up=up: prometheus.value("up") == up and len(prometheus.query("hook_build_info")) == up)
        wait_for(f"what it says with a {name} token",
                 lambda prometheus=prometheus, up=up: prometheus.last_error() == "" if up else "401" in prometheus.last_error())


def test(run):
    check_near(run)
    check_far(run)


if __name__ == "__main__":
    main(test)
