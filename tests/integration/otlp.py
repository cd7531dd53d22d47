"""otlp: a receiver of OTLP/HTTP, and what it got as OpenTelemetry's own package decodes it.

The package comes from PyPI and is installed once per build directory, for the protobuf that Debian has. Without a network, messages are
decoded by the schema of this tree, which is said.
"""
import contextlib
import glob
import http.server
import importlib
import os
import ssl
import subprocess
import sys
import threading

from harness import TIMEOUT, expect, expect_true

PACKAGE = "opentelemetry-proto==1.20.0"
SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "proto", "schema")
CUMULATIVE = 2
TYPE = "application/x-protobuf"


def install(place):
    """Returns the directory of the package's modules, or None if it cannot be installed here."""
    ready = os.path.join(place, "ready")
    if not os.path.exists(ready):
        for command in (("/usr/bin/python3", "-m", "venv", "--clear", place),
                        (os.path.join(place, "bin", "python"), "-m", "pip", "install", "-q", "--no-deps", PACKAGE)):
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=TIMEOUT)
            if done.returncode != 0:
                print(f"{PACKAGE} cannot be installed here, its messages are decoded by otlp.proto: {done.stderr.strip()[-300:]}")
                return None
        with open(ready, "w", encoding="utf-8"):
            pass
    return glob.glob(os.path.join(place, "lib", "*", "site-packages"))[0]


class Schema:
    """The classes of messages."""

    def __init__(self, run):
        found = install(os.path.join(run.build, "tests", "otlp-proto"))
        if found:
            sys.path.append(found)
            module = importlib.import_module("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2")
        else:
            run.command("protoc", f"--proto_path={SCHEMA}", f"--python_out={run.directory}", "otlp.proto")
            sys.path.append(run.directory)
            module = importlib.import_module("otlp_pb2")
        self.request, self.response = module.ExportMetricsServiceRequest, module.ExportMetricsServiceResponse
        self.partial = module.ExportMetricsPartialSuccess


def texts(attributes):
    found = {attribute.key: attribute.value.string_value for attribute in attributes}
    expect("two attributes of one name", len(found), len(attributes))
    return found


def bound_text(bound):
    """A bound as the page writes it."""
    return f"{bound:.9f}".rstrip("0")


class Message:
    """One push: {(sample's name on the page, its labels): value}, and what else there is to check."""

    def __init__(self, schema, body):
        request = schema.request.FromString(body)
        expect("resources", len(request.resource_metrics), 1)
        resource = request.resource_metrics[0]
        expect("scopes", len(resource.scope_metrics), 1)
        self.resource = texts(resource.resource.attributes)
        self.metrics = {metric.name: metric for metric in resource.scope_metrics[0].metrics}
        expect("two metrics of one name", len(self.metrics), len(resource.scope_metrics[0].metrics))
        self.samples = {}
        self.starts, self.times = {}, set()
        for metric in self.metrics.values():
            getattr(self, f"_{metric.WhichOneof('data')}")(metric)

    def _add(self, name, labels, value):
        key = name, frozenset(labels.items())
        expect_true(f"two points of {key}", key not in self.samples)
        self.samples[key] = value

    def _numbers(self, name, points):
        for point in points:
            self.times.add(point.time_unix_nano)
            self._add(name, texts(point.attributes), getattr(point, point.WhichOneof("value")))

    def _gauge(self, metric):
        self._numbers(metric.name, metric.gauge.data_points)

    def _started(self, metric, points):
        for point in points:
            self.starts[metric.name, texts(point.attributes).get("hook_job")] = point.start_time_unix_nano
            expect_true(f"{metric.name} starts before its time", 0 < point.start_time_unix_nano <= point.time_unix_nano)

    def _sum(self, metric):
        expect(f"{metric.name}: kind", (metric.sum.aggregation_temporality, metric.sum.is_monotonic), (CUMULATIVE, True))
        self._numbers(f"{metric.name}_total", metric.sum.data_points)
        self._started(metric, metric.sum.data_points)

    def _histogram(self, metric):
        expect(f"{metric.name}: kind", metric.histogram.aggregation_temporality, CUMULATIVE)
        self._started(metric, metric.histogram.data_points)
        for point in metric.histogram.data_points:
            labels, count = texts(point.attributes), 0
            expect("buckets", len(point.bucket_counts), len(point.explicit_bounds) + 1)
            bounds = [*map(bound_text, point.explicit_bounds), "+Inf"]
            for bound, more in zip(bounds, point.bucket_counts):
                count += more
                self._add(f"{metric.name}_bucket", {**labels, "le": bound}, count)
            expect("calls of all buckets", point.count, count)
            self._add(f"{metric.name}_count", labels, point.count)
            self._add(f"{metric.name}_sum", labels, point.sum)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        receiver = self.server.receiver
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with receiver.lock:
            receiver.requests.append((self.path, self.headers, body))
            answer = receiver.answer
        answer(self)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Clients that give up are part of the tests."""


class Receiver:
    """Answers every push by `answer(handler)`, and keeps them in `requests`. PORT 0: a free one."""

    def __init__(self, answer=None, port=0, keys=None):
        self.lock = threading.Lock()
        self.requests = []
        self.answer = answer or taken
        self.server = Server(("127.0.0.1", port), Handler)
        self.server.receiver = self
        self.port = self.server.server_address[1]
        if keys:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*keys)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def count(self):
        with self.lock:
            return len(self.requests)

    def last(self):
        with self.lock:
            return self.requests[-1] if self.requests else None

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@contextlib.contextmanager
def receiver(*arguments, **options):
    made = Receiver(*arguments, **options)
    try:
        yield made
    finally:
        made.close()


def reply(handler, status, body=b"", **headers):
    handler.send_response(status)
    for name, value in {"Content-Type": TYPE, "Content-Length": str(len(body)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def taken(handler):
    reply(handler, 200)
