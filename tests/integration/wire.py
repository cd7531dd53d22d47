"""wire: messages of wire.proto made by hand, and a peer that sends them over TCP as an NNG REQ socket does."""
import socket
import struct
import time

from harness import TIMEOUT

GREETING = b"\0SP\0\0\x30\0\0"
STATUS, LIST, SNAPSHOT, OPEN_JOB, REPORT, CHUNK, PROBE = 2, 3, 4, 6, 30, 31, 32
TOKEN = 8


def varint(value):
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def part(number, content):
    """Field NUMBER with text, bytes or a message."""
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def number(field, value):
    return varint(field << 3) + varint(value)


def framed(message, announced=None):
    """MESSAGE behind its length, or behind another one."""
    body = b"\x80\0\0\1" + message
    return struct.pack(">Q", len(body) if announced is None else announced) + body


def request(token, what, body=b""):
    """hk.Request with the token first, which a long one must have."""
    return framed(part(TOKEN, token) + part(what, body))


def anchor(ns):
    return number(1, ns) + number(2, ns) + number(3, ns)


def site(index, function="f", library="/l"):
    return number(1, index) + part(2, function) + part(3, library) + part(4, "libc") + part(9, library)


def process(uid, sites=()):
    return part(1, uid) + number(3, 77) + number(17, 1 << 32) + part(18, anchor(10**6)) + \
        b"".join(part(28, one) for one in sites) + part(37, anchor(10**6))


def job(key, processes=(), complete=False, command=""):
    """hk.LeafJob."""
    return part(1, part(2, key) + (part(3, command) if command else b"") + part(15, key) + number(44, 5)) + \
        b"".join(part(2, one) for one in processes) + (number(3, 1) if complete else b"")


def report(node, jobs, index, epoch=99):
    """hk.LeafReport of a node whose id is NODE."""
    return part(1, part(1, node) + part(2, "peer") + part(4, b"b" * 16)) + b"".join(part(2, one) for one in jobs) + \
        number(4, index) + number(5, epoch)


class Peer:
    """One connection."""

    def __init__(self, port, receive_bytes=None):
        self.socket = socket.socket()
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(TIMEOUT)
        self.socket.connect(("127.0.0.1", port))
        self.socket.sendall(GREETING)
        self.take(8)

    def take(self, count):
        got = bytearray()
        while len(got) < count:
            more = self.socket.recv(min(count - len(got), 1 << 20))
            if not more:
                raise EOFError(f"the collector hung up after {len(got)} of {count} bytes")
            got += more
        return bytes(got)

    def send(self, message):
        self.socket.sendall(message)

    def answer(self):
        return self.take(struct.unpack(">Q", self.take(8))[0])[4:]

    def ask(self, message):
        self.send(message)
        return self.answer()

    def wait_s(self, message):
        """Seconds that the answer takes."""
        begin = time.monotonic()
        self.ask(message)
        return time.monotonic() - begin

    def close(self):
        self.socket.close()
