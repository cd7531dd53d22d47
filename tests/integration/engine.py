"""engine: real NATS JetStream servers of a test's own, one or a cluster, which may be killed and come again; skips (77) without."""
import json
import os
import shutil
import socket
import subprocess
import sys

from harness import TIMEOUT, end_process, expect_true, wait_for
from nodes import Node

SKIP = 77
CLIENTS, ROUTES = 4222, 6222  # in network namespaces of our own, where they are free


def program():
    """Where nats-server is. Debian's is not in everybody's PATH."""
    found = shutil.which("nats-server", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
    if not found:
        print("skipped: no nats-server here")
        sys.exit(SKIP)
    return found


class Server:
    """One server: its directory, its configuration, its process. BEFORE: words in front of its command."""

    def __init__(self, run, name, before=()):
        self.run, self.name, self.before = run, name, list(before)
        self.directory = run.path(f"engine-{name}")
        self.configuration = run.path(f"engine-{name}.conf")
        self.log = run.path(f"engine-{name}.log")
        self.process = None
        os.mkdir(self.directory)

    def configure(self, listen, *more):
        lines = [f'listen: "{listen}"', f"server_name: {self.name}", f'jetstream {{ store_dir: "{self.directory}" }}',
                 f'ports_file_dir: "{self.directory}"', *more]
        with open(self.configuration, "w", encoding="utf-8") as out:
            out.write("\n".join(lines))
        return self

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([*self.before, program(), "-c", self.configuration],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.run.collectors.append(self.process)
        return self

    def kill(self):
        end_process(self.process)

    def address(self):
        """Where it listens, HOST:PORT, once it does; None until then."""
        try:
            with open(os.path.join(self.directory, f"nats-server_{self.process.pid}.ports"), encoding="utf-8") as ports:
                return json.load(ports)["nats"][0].removeprefix("nats://")
        except (FileNotFoundError, json.JSONDecodeError):
            return None


def single(run, name="only", *lines):
    """A server by itself on a port that it has found; it comes again on the same one. Returns (server, URL)."""
    server = Server(run, name).configure("127.0.0.1:-1", *lines).start()
    address = wait_for("the engine to listen", server.address)
    server.configure(address, *lines)
    return server, f"nats://{address}"


def ask(url, subject, payload=b""):
    """The JSON answer of the server at URL to a request of its own API."""
    host, port = url.removeprefix("nats://").split(",")[0].split(":")
    with socket.create_connection((host, int(port)), TIMEOUT) as connection, connection.makefile("rb") as answers:
        connection.sendall(b'CONNECT {"verbose":false}\r\nSUB answer 1\r\n' +
                           b"PUB %s answer %d\r\n%s\r\n" % (subject.encode(), len(payload), payload))
        while not (line := answers.readline()).startswith(b"MSG"):
            expect_true(f"the server says {line}", line and not line.startswith(b"-ERR"))
        return json.loads(answers.read(int(line.split()[-1])))


def cluster(run, network, hosts):
    """A server on each of HOSTS of NETWORK. Returns ({name: server}, the URL of all)."""
    routes = ", ".join(f'"nats://{network.address(host)}:{ROUTES}"' for host in hosts)
    servers = {}
    for host in hosts:
        among = f'cluster {{ name: engine, listen: "{network.address(host)}:{ROUTES}", routes: [{routes}] }}'
        servers[host] = Server(run, host, network.words(host)).configure(f"{network.address(host)}:{CLIENTS}", among).start()
    return servers, "nats://" + ",".join(network.address(host) for host in hosts)


class Stream:
    """`hookcollector stream`, with BEFORE in front of its command."""

    def __init__(self, run, url, before=()):
        self.run, self.url, self.before = run, url, list(before)

    def command(self, word, *options):
        return self.run.command(*self.before, self.run.binary("hookcollector"), "stream", word, self.url, *options, check=False)

    def set_up(self, *options):
        """Makes the stream as soon as the engine can."""
        wait_for("the engine to make the stream", lambda: self.command("setup", *options).returncode == 0)

    def status(self):
        """What its status says; None: it cannot be asked now."""
        done = self.command("status", "--json")
        return json.loads(done.stdout) if done.returncode == 0 else None


class Root(Node):
    """A root of the engine: the process that keeps others, one for each partition that it has."""

    def start(self, *options):
        with open(self.log, "ab") as log:
            self.collector = subprocess.Popen(
                [*self.before, self.run.binary("hookcollector"), "--store", self.store, *self.options, *options],
                env=self.environment(), cwd=self.run.directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        self.run.collectors.append(self.collector)
        return self
