#!/usr/bin/python3
"""A collector that others can reach, and what strangers do to it: each is refused, the log says so, the job is not affected."""
import contextlib
import ctypes
import errno
import json
import os
import random
import re
import resource
import select
import socket
import ssl
import statistics
import struct
import time

import loop
from harness import TIMEOUT, Run, end_process, expect, expect_true, main, wait_for

FAILED, USAGE, ABSENT = 1, 2, 3
GREETING = b"\0SP\0\0\x30\0\0"
CONNECTIONS = 10_000
MIB = 1 << 20
RSS_SLACK = 16 * MIB
SEED = 4


def varint(value):
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def request(token, field, body=b"", trace=b"\x80\0\0\1"):
    """A message of a REQ socket: hk.Request with field FIELD and TOKEN."""
    packed = varint(field << 3 | 2) + varint(len(body)) + body
    shown = varint(8 << 3 | 2) + varint(len(token)) + token if token else b""
    # In the order of their numbers: the token is 8.
    message = trace + (packed + shown if field < 8 else shown + packed)
    return struct.pack(">Q", len(message)) + message


STATUS, SNAPSHOT, OPEN_JOB, CHUNK = 2, 4, 6, 31


class Root:
    """A collector on TLS with tokens, and what it takes to reach it."""

    def __init__(self, run):
        self.run, self.keys = run, run.path("keys")
        said = run.command(run.binary("hookcollector"), "keygen", self.keys).stdout
        for word in ("--listen tls+tcp://", "--upstream tls+tcp://", "hookcli top --collector tls+tcp://"):
            expect_true(f"keygen says {word}: {said}", word in said)
        self.collector = run.start_collector("--listen", "tls+tcp://0.0.0.0:0", "--token-file", self.key("tokens"), "--tls-cert",
                                             self.key("collector.crt"), "--tls-key", self.key("collector.key"))
        self.port = int(self.status()["listen"].rsplit(":", 1)[1])
        self.url = f"tls+tcp://127.0.0.1:{self.port}"

    def key(self, name):
        return os.path.join(self.keys, name)

    def token(self, name):
        with open(self.key(name), encoding="ascii") as file:
            return file.read().split()[1].encode()

    def status(self):
        return json.loads(self.run.cli("status", "--json").stdout)

    def log(self):
        with open(self.run.path("collector.log"), encoding="utf-8") as file:
            return file.read()

    def rss(self):
        with open(f"/proc/{self.collector.pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+) kB", file.read())[1]) * 1024

    def raw(self):
        return socket.create_connection(("127.0.0.1", self.port), TIMEOUT)

    def tls(self):
        context = ssl.create_default_context(cafile=self.key("collector.crt"))
        return context.wrap_socket(self.raw(), server_hostname="hooktrace")

    def ask(self, *words, url=None, authorities="collector.crt", token="read.token", **options):
        """hookcli from far away."""
        more = ["--tls-ca", self.key(authorities)] if authorities else []
        more += ["--token-file", self.key(token)] if token else []
        return self.run.cli(*words, "--collector", url or self.url, *more, check=False, **options)

    def refused(self, why, act, count=1):
        """ACT makes it refuse COUNT times; its log says WHY before long, and never a token."""
        before = self.status()["turned_away"]
        act()
        wait_for(f"a refusal: {why}", lambda: self.status()["turned_away"] >= before + count)
        wait_for(f"the log says {why}", lambda: f"why={why}" in self.log())


def closes(stream):
    """It gets no answer but the end of the connection."""
    got = b""
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        while part := stream.recv(4096):
            got += part
    stream.close()
    return got


def check_start(run: Run):
    """What would be open is not even begun."""
    keys = run.path("keys")
    own = ["--tls-cert", f"{keys}/collector.crt", "--tls-key", f"{keys}/collector.key"]
    for words, listen in (("only with TLS and a token", ["tcp://0.0.0.0:0"]), ("--tls-cert and --tls-key", ["tls+tcp://0.0.0.0:0"]),
                          ("--token-file", ["tls+tcp://0.0.0.0:0", *own]), ("not of the form", ["http://127.0.0.1"]),
                          ("others may read", ["tcp://127.0.0.1:0", "--token-file", f"{keys}/collector.crt"])):
        done = run.command(run.binary("hookcollector"), "--listen", *listen, check=False,
                           env={"HOOK_RUN_DIR": run.path("other")})
        expect(f"{listen}", (done.returncode, done.stderr.count("\n")), (1, 1))
        expect_true(f"{listen} says {words}: {done.stderr}", words in done.stderr)
    done = run.command(run.binary("hookcollector"), "keygen", keys, check=False)
    expect_true(f"keys are not overwritten: {done.stderr}", done.returncode == 1 and "never overwritten" in done.stderr)
    for name in ("collector.key", "tokens", "control.token", "read.token"):
        expect(f"mode of {name}", os.stat(f"{keys}/{name}").st_mode & 0o777, 0o600)


def check_prompt(root: Root):
    """An answer does not wait until its first bytes are acknowledged, 40 ms, by half of which clocks would be wrong: a client that acknowledges at
    once is not answered sooner."""
    with root.tls() as patient, root.tls() as hasty:
        for stream in (patient, hasty):
            stream.sendall(GREETING)
            stream.recv(4096)

        def ask(stream):
            begun = time.monotonic()
            stream.sendall(request(root.token("read.token"), STATUS))
            if stream is hasty:
                stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
            got = b""
            while len(got) < 8 or len(got) < 8 + struct.unpack(">Q", got[:8])[0]:
                got += stream.recv(4096)
            return time.monotonic() - begun
        # In turns, and the quicker ones of each: the machine may be busy. The kernel acknowledges the first few at once in any case.
        slow, quick = (statistics.quantiles(times, n=4)[0] for times in zip(*((ask(patient), ask(hasty)) for _ in range(60))))
        longer_ms = 1e3 * (slow - quick)
        expect_true(f"answers take {longer_ms:.1f} ms longer when they are acknowledged later", longer_ms < 20)


def check_cli(run: Run, root: Root):
    """One line with the fix for each way to be wrong."""
    run.command(run.binary("hookcollector"), "keygen", run.path("keys", "others"))
    with open(root.key("wrong.token"), "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write("control " + "0" * 64 + "\n")
    expect("status", root.ask("status").returncode, 0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"tls+tcp://127.0.0.1:{free.getsockname()[1]}"
        for code, words, done in (
                (FAILED, "--token-file FILE", root.ask("status", token=None)),
                (FAILED, "--token-file FILE", root.ask("status", token="wrong.token")),
                (FAILED, "--token-file FILE", root.ask("top", "--once", token=None)),
                (FAILED, "--token-file FILE", root.ask("report", token=None)),
                (FAILED, "--token-file FILE", root.ask("report", "living", token=None)),
                (FAILED, "--tls-ca", root.ask("report", "living", authorities=None)),
                (ABSENT, "no job 'nobody's'", root.ask("report", "nobody's")),
                (FAILED, "may only read", root.ask("ctl", "level", "*:nanosleep=count", "--job", "living")),
                (FAILED, "--collector tls+tcp://", root.ask("status", url=root.url[4:])),
                (FAILED, "--tls-ca", root.ask("status", authorities=None)),
                (FAILED, "--tls-ca", root.ask("status", authorities="others/collector.crt")),
                (FAILED, "tls+tcp://192.0.2.1", root.ask("status", url="tcp://192.0.2.1:9")),
                (FAILED, "chmod 600", root.ask("status", token="collector.crt")),
                (ABSENT, "hookcollector --listen", root.ask("status", url=nobody))):
            expect(f"hookcli, {words}: {done.stderr!r}", (done.returncode, done.stderr.count("\n")), (code, 1))
            expect_true(f"hookcli says {words}: {done.stderr!r}", words in done.stderr)
    living = root.ask("ctl", "level", "*:nanosleep=time", "--job", "living", token="control.token")
    expect(f"control: {living.stderr}", living.returncode, 0)


def check_directory(run: Run, root: Root):
    """A client with the right to control cannot choose directories."""
    wanted = run.path("wanted")
    texts = {1: b"placed", 5: wanted.encode()}  # job; number of a field that once named a directory
    body = b"".join(varint(field << 3 | 2) + varint(len(text)) + text for field, text in texts.items())
    with root.tls() as stream:
        stream.sendall(GREETING + request(root.token("control.token"), OPEN_JOB, body))
        wait_for("the job", lambda: "placed" in [job["id"] for job in root.status()["jobs"]])
    expect_true("it lies in the store", os.path.isdir(run.path("store", "placed")) and not os.path.exists(wanted))


def check_strangers(root: Root):
    """Clients that do not speak the protocol, or show no token."""
    chance = random.Random(SEED)

    def says(data, stream=None):
        stream = stream or root.raw()
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            stream.sendall(data)
        got = closes(stream)
        expect_true(f"no answer to {data[:20]}: {got[:40]}", b"HTTP" not in got and len(got) < 300)

    plain = "no TLS, or a certificate that is not trusted"
    root.refused(plain, lambda: says(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
    root.refused(plain, lambda: [says(chance.randbytes(chance.randrange(64, 4096))) for _ in range(20)], 20)
    root.refused("speaks HTTP", lambda: says(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", root.tls()))
    root.refused("not this protocol", lambda: [says(chance.randbytes(200), root.tls()) for _ in range(10)], 10)
    for size in (1 << 63, (64 << 20) + 1):
        root.refused("a message of more bytes than may be", lambda: says(GREETING + struct.pack(">Q", size), root.tls()))
    root.refused("not a request", lambda: says(GREETING + struct.pack(">Q", 3) + b"abc", root.tls()))
    # As large as may be, but the token has to be in its first part.
    large = GREETING + struct.pack(">Q", 64 << 20) + b"\x80\0\0\1" + chance.randbytes(80_000)
    root.refused("no token, or a wrong one", lambda: says(large, root.tls()))
    for _ in range(50):
        body = chance.randbytes(chance.randrange(4, 60_000))
        says(GREETING + struct.pack(">Q", len(body)) + body, root.tls())
    root.refused("its token may only read", lambda: says(GREETING + request(root.token("read.token"), CHUNK, b"x" * 100_000), root.tls()))


def check_silence(root: Root):
    """Silent connections are closed, half-open or after the greeting."""
    idle = [root.raw(), root.tls(), root.tls()]
    idle[1].sendall(GREETING)
    idle[2].sendall(GREETING + b"\0\0")

    def ends():
        for stream in idle:
            closes(stream)
    root.refused("says nothing", ends, 3)


def connected(stream):
    """Waits until it is, or was refused; not for ever, when the other side takes no more just now."""
    ready = select.poll()
    ready.register(stream, select.POLLOUT)
    ready.poll(20)


def check_connections(root: Root):
    """Ten thousand connections are opened and left: authenticated clients are answered all the while."""
    opened = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    try:
        for number in range(CONNECTIONS):
            stream = socket.socket()
            stream.setblocking(False)
            opened.append(stream)
            expect_true("begun", stream.connect_ex(("127.0.0.1", root.port)) in (0, errno.EINPROGRESS))
            connected(stream)
            if number % 2500 == 2499:
                expect_true("the owner is answered", root.status()["pid"] == root.collector.pid)
                expect("who may is answered", root.ask("status").returncode, 0)
        wait_for("the log of them", lambda: "why=too many connections without a request" in root.log())
        descriptors = len(os.listdir(f"/proc/{root.collector.pid}/fd"))
        expect_true(f"descriptors stay few: {descriptors}", descriptors < 1500)
    finally:
        for stream in opened:
            stream.close()


def check_slow_readers(root: Root):
    """Clients that send requests and never read: their unread responses stay bounded, and others are answered."""
    token = root.token("read.token")
    before, readers = root.rss(), []
    for _ in range(20):
        stream = root.tls()
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stream.sendall(GREETING)
        stream.settimeout(0.2)
        with contextlib.suppress(TimeoutError, ssl.SSLError):
            for _ in range(400):
                stream.sendall(request(token, SNAPSHOT))
        readers.append(stream)
    expect("who may is answered", root.ask("status").returncode, 0)
    expect_true(f"little is kept for them: {(root.rss() - before) / MIB:.1f} MiB", root.rss() - before < 64 * MIB)
    for stream in readers:
        stream.close()


def check_segments(run: Run, root: Root, path):
    """Files in the run directory that are none, or change: they cost themselves only."""
    chance = random.Random(SEED)
    live = next(name for name in os.listdir(run.run_directory) if name.endswith(".seg"))
    with open(os.path.join(run.run_directory, live), "rb") as file:
        whole = file.read(4 * MIB)

    def place(data):
        name = os.path.join(run.run_directory, chance.randbytes(16).hex() + ".seg")
        with open(name + ".new", "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(data)
        os.rename(name + ".new", name)
        return name

    placed = [place(chance.randbytes(16384 * 4)), place(b""), place(whole[:16384 + 77]), place(whole[:100])]
    for _ in range(10):
        hurt = bytearray(whole)
        for _ in range(200):
            hurt[chance.randrange(min(len(hurt), 65536))] = chance.randrange(256)
        placed.append(place(hurt))
    os.symlink("/etc/passwd", os.path.join(run.run_directory, chance.randbytes(16).hex() + ".seg"))
    os.mkfifo(os.path.join(run.run_directory, chance.randbytes(16).hex() + ".seg"))
    for _ in range(20): # shrinks while it is looked at
        name = place(whole)
        begun = loop.rounds_of(path)
        loop.wait_rounds(path, begun + 20)
        with contextlib.suppress(FileNotFoundError):
            os.truncate(name, chance.randrange(len(whole)))
        placed.append(name)
    expect("still there", root.status()["pid"], root.collector.pid)
    for name in placed:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def check_run_directory(run: Run):
    """One that is a link, or somebody else's, or open to others, is not used."""
    real = run.path("real")
    os.mkdir(real, 0o700)
    os.symlink(real, run.path("link"))
    os.mkdir(run.path("open"), 0o700)
    os.chmod(run.path("open"), 0o777)
    squats = [run.path("link"), run.path("open")]
    if os.geteuid() == 0:
        os.mkdir(run.path("theirs"), 0o700)
        os.chown(run.path("theirs"), 65534, 65534)
        squats.append(run.path("theirs"))
    for squat in squats:
        done = run.command(run.binary("hookcollector"), "--store", run.path("none"), env={"HOOK_RUN_DIR": squat}, check=False)
        expect_true(f"{squat} is refused in one line: {done.stderr}", done.returncode == 1 and done.stderr.count("\n") == 1)
        expect_true("nothing was put there", "collector.sock" not in os.listdir(squat))


def check_another_user(run: Run):
    """Other users cannot open the run directory's socket."""
    if os.geteuid() != 0:
        return
    child = os.fork()
    if child == 0:
        code = 1
        try:
            libc = ctypes.CDLL(None)
            libc.setgroups(0, None)
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            with socket.socket(socket.AF_UNIX) as stream:
                stream.connect(os.path.join(run.run_directory, "collector.sock"))
        except PermissionError:
            code = 0
        finally:
            os._exit(code)
    expect("another user's process", os.waitpid(child, 0)[1], 0)


def test(run: Run):
    root = Root(run)
    path = run.path("progress")
    job = loop.start(run, run.workload("calls_truth"), "--loop", path, "1000000000", "500", env=loop.agent_environment(run, "living"))
    loop.wait_rounds(path, 50)
    wait_for("its records", lambda: root.status()["drained_records"] > 0)
    check_start(run)
    check_prompt(root)
    check_cli(run, root)
    check_directory(run, root)
    with root.tls() as stream: # what TLS costs once is not what strangers cost
        stream.sendall(GREETING + request(root.token("read.token"), STATUS))
        expect_true("answered", stream.recv(8) != b"")
    before = root.rss()
    for check in (check_strangers, check_silence, check_connections, check_slow_readers):
        check(root)
    check_segments(run, root, path)
    check_run_directory(run)
    check_another_user(run)
    wait_for("memory as before", lambda: root.rss() - before < RSS_SLACK)
    expect("it lives", root.collector.poll(), None)
    log = root.log()
    for name in ("read.token", "control.token"):
        expect_true(f"no {name} in the log", root.token(name).decode() not in log)
    lines = [line for line in log.splitlines() if "refused peer=" in line]
    expect_true(f"few lines of refusals: {len(lines)}", len(lines) < 40)
    begun = loop.rounds_of(path)
    loop.wait_rounds(path, begun + 50)
    end_process(job)
    loop.expect_loop("the job", loop.closed_report(run, "living"), loop.rows(path))


if __name__ == "__main__":
    main(test)
