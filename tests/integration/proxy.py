#!/usr/bin/python3
"""proxy: a network between leaf and root that behaves badly on demand: late, cut, with messages twice or in another order.

As a module: Proxy(target) in a test. As a program: `proxy.py LISTEN TARGET [OPTION=VALUE...]`, LISTEN and TARGET as HOST:PORT, with the
keys of Proxy.set; it prints the address it listens on, reads `cut`, `heal`, `reset` and `OPTION=VALUE` from standard input, one a line,
and prints `ok` after each. Ends with its input.

It knows the frames of NNG's TCP transport (8 bytes of greeting, then messages behind a 64-bit length), so that what it repeats and
swaps are whole messages. Bytes of one direction keep their order unless `swap` says otherwise.
"""
import collections
import contextlib
import random
import socket
import struct
import sys
import threading
import time

GREETING = 8
LENGTH = struct.Struct(">Q")
HOLD = 0.05
UP, DOWN = 0, 1  # from leaf to root, and back


class Behaviour:
    """What is done to the messages of one direction. Times are seconds."""

    def __init__(self):
        self.least, self.most = 0.0, 0.0  # delay: uniform between these
        self.more = 0.0                   # added to every delay
        self.twice, self.swap = 0.0, 0.0  # chances of a message to come twice, or behind the next one


class Direction(threading.Thread):
    """Carries one direction of one connection: a reader thread and this one, which writes when it is time."""

    def __init__(self, proxy, source, sink, behaviour, chance):
        super().__init__(daemon=True)
        self.proxy, self.source, self.sink, self.behaviour, self.chance = proxy, source, sink, behaviour, chance
        self.queue = collections.deque()  # (when, bytes)
        self.ready = threading.Condition()
        self.ended = False
        self.held = None                  # a message that lets the next one pass
        self.held_until = 0.0             # but does not wait for ever for one
        self.last = 0.0
        self.reader = threading.Thread(target=self.read, daemon=True)

    def put(self, data):
        delay = self.chance.uniform(self.behaviour.least, self.behaviour.most) + self.behaviour.more
        with self.ready:
            # In order: what is sent later does not arrive earlier.
            self.last = max(self.last, time.monotonic() + delay)
            self.queue.append((self.last, data))
            self.ready.notify()

    def take(self, message):
        held, self.held = self.held, None
        if held is None and self.chance.random() < self.behaviour.swap:
            self.held, self.held_until = message, time.monotonic() + HOLD
            return
        self.put(message)
        if self.chance.random() < self.behaviour.twice:
            self.put(message)
        if held is not None:
            self.put(held)

    def exactly(self, size):
        parts = []
        while size > 0:
            part = self.source.recv(min(size, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def read(self):
        with contextlib.suppress(OSError, EOFError):
            while self.proxy.raw:
                part = self.source.recv(1 << 16)
                if not part:
                    raise EOFError
                self.put(part)
            self.put(self.exactly(GREETING))
            while True:
                head = self.exactly(LENGTH.size)
                self.take(head + self.exactly(LENGTH.unpack(head)[0]))
        with self.ready:
            self.ended = True
            self.ready.notify()

    def run(self):
        self.reader.start()
        with contextlib.suppress(OSError):
            while True:
                with self.ready:
                    while not self.queue and not self.ended:
                        # A message held for a successor that does not come is sent alone.
                        if not self.ready.wait(HOLD) and self.held is not None and time.monotonic() >= self.held_until:
                            held, self.held = self.held, None
                            self.queue.append((0.0, held))
                    if not self.queue:
                        break
                    when, data = self.queue.popleft()
                while (left := when - time.monotonic()) > 0:
                    time.sleep(left)
                # While the wire is cut all messages wait; neither side gets an error.
                self.proxy.whole.wait()
                self.sink.sendall(data)
        self.proxy.drop(self.source, self.sink)


class Proxy:
    """Listens on HOST at a free port, carries what comes to TARGET (host, port)."""

    def __init__(self, target, host="127.0.0.1", port=0, seed=0):
        self.target = target
        self.behaviour = (Behaviour(), Behaviour())
        self.raw = False
        self.whole = threading.Event()
        self.whole.set()
        self.chance = random.Random(seed)
        self.sockets = set()
        self.lock = threading.Lock()
        self.listener = socket.create_server((host, port))
        self.address = self.listener.getsockname()
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def url(self):
        return f"tcp://{self.address[0]}:{self.address[1]}"

    def set(self, **options):
        """up_ms, down_ms: "LEAST-MOST" of each direction's delay; up_more_ms, down_more_ms; twice, swap: chances, up_twice, down_swap
        and so on: of one direction; raw=1: bytes of whatever kind, such as TLS."""
        for key, value in options.items():
            if key == "raw":
                self.raw = bool(int(value))
                continue
            if key in ("twice", "swap"):
                for behaviour in self.behaviour:
                    setattr(behaviour, key, float(value))
                continue
            name, _, what = key.partition("_")
            behaviour = self.behaviour[{"up": UP, "down": DOWN}[name]]
            if what in ("twice", "swap"):
                setattr(behaviour, what, float(value))
            elif what == "more_ms":
                behaviour.more = float(value) / 1000
            else:
                behaviour.least, behaviour.most = (float(part) / 1000 for part in str(value).split("-"))

    def cut(self):
        """From here on nothing arrives, on connections there are and on new ones."""
        self.whole.clear()

    def heal(self):
        self.whole.set()

    def reset(self):
        """Breaks every connection there is."""
        with self.lock:
            sockets = list(self.sockets)
        self.drop(*sockets)

    def close(self):
        self.listener.close()
        self.reset()
        self.whole.set()

    def drop(self, *sockets):
        for one in sockets:
            with self.lock:
                self.sockets.discard(one)
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def accept(self):
        while True:
            try:
                leaf, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.connect, args=(leaf,), daemon=True).start()

    def connect(self, leaf):
        self.whole.wait()
        try:
            root = socket.create_connection(self.target, timeout=10)
        except OSError:
            leaf.close()
            return
        root.settimeout(None)
        for one in (leaf, root):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self.lock:
            self.sockets |= {leaf, root}
            seeds = [self.chance.random() for _ in range(2)]
        Direction(self, leaf, root, self.behaviour[UP], random.Random(seeds[UP])).start()
        Direction(self, root, leaf, self.behaviour[DOWN], random.Random(seeds[DOWN])).start()


def address_of(text):
    host, _, port = text.removeprefix("tcp://").rpartition(":")
    return host, int(port)


def obey(proxy, word):
    if "=" in word:
        key, _, value = word.partition("=")
        proxy.set(**{key: value})
    else:
        {"cut": proxy.cut, "heal": proxy.heal, "reset": proxy.reset}[word]()


def main(listen, target, *options):
    host, port = address_of(listen)
    with Proxy(address_of(target), host, port) as proxy:
        for option in options:
            obey(proxy, option)
        print(proxy.url, flush=True)
        for line in sys.stdin:
            obey(proxy, line.strip())
            print("ok", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
