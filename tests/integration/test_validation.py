#!/usr/bin/python3
"""Operators in lock-step with a golden process: a fault below an API is found in that API, a healthy program has none and computes what it computes alone; a
golden process that is killed, or that is sent anything, does no harm. Debian's torch and NNG."""
import json
import os
import random
import socket
import subprocess
import sys

from harness import Failure, expect, expect_true, main

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "validation", "program.py")
PAGE = os.path.join(HERE, "..", "..", "deploy", "docs", "agreement.md")
CUSTOM = os.path.join(HERE, "validation", "custom.py")
# Operators below, and the APIs that are made of them, innermost first.
FAULTS = {
    "convolution": ("torch.nn.functional.conv2d", "torch.conv2d"),
    "gelu": ("torch.nn.functional.gelu",),
    "native_layer_norm": ("torch.layer_norm", "torch.nn.functional.layer_norm"),
    "addmm": ("torch.nn.functional.linear",),
    "bmm": ("torch.bmm",),
    "_softmax": ("torch.softmax", "torch.Tensor.softmax", "torch.nn.functional.softmax"),
    "relu_": ("torch.Tensor.relu_",),
    "addcmul_": ("torch.Tensor.addcmul_",),
}
BYTES, FLIPS = 4000, 300
SKIP = 77


def environment(run, **more):
    return {"PYTHONPATH": os.path.join(run.build, "python"), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", **more}


class Golden:
    """A golden process; its URL."""

    def __init__(self, run, *options, **more):
        self.process = subprocess.Popen([sys.executable, "-m", "hooktrace.precision.golden", *options], env=run.environment(**environment(run, **more)),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise Failure(f"no golden process: {self.process.stderr.read()[-2000:]}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


def found_by(run, url, *words, **more):
    return json.loads(run.command(sys.executable, PROGRAM, url, *words, env=environment(run, **more)).stdout.splitlines()[-1])


def check_healthy(run, url):
    plain, found = found_by(run, url, "plain"), found_by(run, url, "healthy")
    expect("parameters of a program under validation", found["digests"], plain["digests"])
    expect(f"differences of a healthy program ({found['text']})", found["differences"], [])
    expect("warnings", found["said"], [])
    missing = [names[-1] for names in FAULTS.values() if not any(name in found["agreed"] for name in names)]
    expect("operators that were not checked", missing, [])
    expect_true(f"dropout is random: {found['skipped']}", found["skipped"].get("random", 0) >= 3)
    return plain


def check_faults(run, url):
    for operator, names in FAULTS.items():
        found = found_by(run, url, "fault", operator)
        expect_true(f"{operator} with a fault: {found['text']}", found["differences"])
        name, _, reason, stack = found["differences"][0]
        expect_true(f"{operator} with a fault is {name}, expected {' or '.join(names)}: {reason}", name in names)
        expect_true(f"{operator}: the stack {stack} has the program", any(PROGRAM in line for line in stack))
        others = {one[0] for one in found["differences"]} - set(names)
        expect(f"{operator}: other operators", others, set())


def check_killed(run, plain):
    with Golden(run) as golden:
        program = subprocess.Popen([sys.executable, PROGRAM, golden.url, "kill"], env=run.environment(**environment(run)), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        expect("first step", program.stdout.readline(), "stepped\n")
        golden.process.kill()
        golden.process.wait()
        out, _ = program.communicate("\n" * 10)
    expect("status of a program whose golden process was killed", program.returncode, 0)
    found = json.loads(out.splitlines()[-1])
    expect("its parameters", found["digests"], plain["digests"])
    expect("what was lost is counted", (found["skipped"].get("not answered"), found["skipped"]["not asked: the golden process is lost"] > 50), (1, True))
    expect_true(f"it is said once: {found['said']}", len(found["said"]) == 1 and "continues without it" in found["said"][0])


def wrong_messages(exchange, key):
    """Valid messages about wrong things, and what is answered."""
    def call(name, arguments, memories=(), **more):
        return exchange.encode(exchange.CALL, {"number": 1, "name": name, "arguments": arguments, "keywords": None, **more}, list(memories), key)

    deep = None
    for _ in range(50):
        deep = {"u": [deep]}
    one = {"t": ["float32", [1]]}
    unknown = ("os.system", "torch.load", "torch.save", "torch.hub.load", "torch.Tensor.__reduce_ex__", "torch.Tensor.numpy", "builtins.exec", "", "__class__")
    for name in unknown:
        yield call(name, {"u": ["/etc/passwd"]}), "refused: no operator"
    yield call("torch.relu", {"u": [{"t": ["float32", [1 << 40]]}]}), "refused: a tensor is larger"
    yield call("torch.relu", {"u": [{"t": ["float32", [-1]]}]}), "refused: a tensor's shape"
    yield call("torch.relu", {"u": [{"t": ["float32", [1] * 65]}]}, [b"1234"]), "refused: a tensor is not described"
    yield call("torch.relu", {"u": [{"t": ["object", [1]]}]}, [b"1234"]), "refused"
    yield call("torch.relu", {"u": [{"t": "float32"}]}), "refused"
    yield call("torch.relu", {"u": [one]}), "refused: a tensor is larger"
    yield call("torch.relu", {"u": [deep]}), "refused"
    yield call("torch.relu", {"u": [{"q": 1}]}), "refused: no value"
    yield call("torch.relu", {"u": [{"i": "9" * 10000}]}), "refused"
    yield call("torch.relu", {"u": [{"y": "__class__"}]}), "refused"
    yield call("torch.relu", {"l": []}), "refused: the call's arguments"
    yield call("torch.relu", None), "refused"
    yield call("torch.relu", {"u": [one]}, [b"1234"], random=one), "refused"
    yield call("torch.relu", {"u": []}), "TypeError"
    yield exchange.encode(exchange.ANSWER, {}, [], key), "refused: no message of kind"
    yield exchange.encode(exchange.CALL, {}, [], exchange.key_of("another")), "refused: the message's checksum"
    yield bytearray(), "refused"


def ask(exchange, client, message, key):
    client.send(message)
    return exchange.decode(client.receive(), key)


def check_hostile(run, seed):
    """Bytes of any kind, in NNG's messages and outside of them."""
    sys.path.insert(0, os.path.join(run.build, "python"))
    from hooktrace.precision import exchange, nng  # pylint: disable=import-outside-toplevel
    chosen, key = random.Random(seed), exchange.key_of(None)
    good = exchange.encode(exchange.CALL, {"number": 1, "name": "torch.relu", "arguments": {"u": [{"t": ["float32", [1]]}]}, "keywords": None},
                           [b"\0\0\x80\xbf"], key)
    with Golden(run, "--listen", "tcp://127.0.0.1:0", "--max-bytes", "100000") as golden:
        client = nng.Socket("req0", 1 << 20)
        client.patience(600)
        client.dial(golden.url)
        for message, wanted in wrong_messages(exchange, key):
            if not message:
                message = bytearray(b"\0")
            answer = ask(exchange, client, message, key)
            expect_true(f"{bytes(message[:300])!r}: {answer.fields}, expected {wanted}", answer.kind == exchange.FAILED and answer.fields["error"].startswith(wanted))
        for number in range(FLIPS):
            message = bytearray(good)
            if number % 3 == 0:
                message = bytearray(chosen.randbytes(chosen.randrange(1, BYTES)))
            elif number % 3 == 1:
                del message[chosen.randrange(1, len(message)):]
            else:
                message[chosen.randrange(len(message))] ^= 1 << chosen.randrange(8)
            answer = ask(exchange, client, message, key)
            expect_true(f"changed bytes: {answer.fields}", answer.kind == exchange.FAILED and answer.fields["error"].startswith("refused"))
        port = int(golden.url.rsplit(":", 1)[1])
        for noise in (b"GET / HTTP/1.1\r\n\r\n", b"\0SP\0\0\x30\0\0" + b"\xff" * 64, b"\0SP\0\0\x30\0\0" + (1 << 40).to_bytes(8, "big"), b""):
            with socket.create_connection(("127.0.0.1", port)) as raw:
                raw.sendall(noise)
        answer = ask(exchange, client, good, key)
        expect("a call behind all of this", (answer.kind, answer.fields["outputs"]), (exchange.ANSWER, [{"t": ["float64", [1]]}]))
        client.close()
        expect("the golden process", golden.process.poll(), None)


def check_custom(run):
    token = run.path("token")
    with open(token, "w", encoding="utf-8") as stream:
        stream.write("secret\n")
    with Golden(run, "--module", f"{CUSTOM}:scale", "--module", f"{CUSTOM}:step", "--token-file", token) as golden:
        run.command(sys.executable, CUSTOM, golden.url, env=environment(run, HOOK_TOKEN_FILE=token))
        done = run.command(sys.executable, PROGRAM, golden.url, "healthy", env=environment(run))
        found = json.loads(done.stdout.splitlines()[-1])
        expect_true(f"without the token: {found['text']}", not found["agreed"] and found["lost"] is not None)
    refused = run.command(sys.executable, "-m", "hooktrace.precision.golden", "--listen", "tcp://0.0.0.0:0", env=environment(run), check=False)
    expect("beyond this machine without a token", (refused.returncode, "--token-file" in refused.stderr), (2, True))
    nowhere = run.command(sys.executable, PROGRAM, f"ipc://{run.path('nowhere')}", "healthy", env=environment(run), check=False)
    expect_true(f"without a golden process: {nowhere.stderr}", nowhere.returncode == 1 and "cannot connect to" in nowhere.stderr)


def check_page(run, url):
    """The examples of the manual."""
    with open(PAGE, encoding="utf-8") as stream:
        lines = [line[4:] for line in stream.read().split("\n") if line.startswith("    ") and "digest of" not in line and "compared steps" not in line]
    path = run.path("page.py")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(f"GOLDEN_URL = {url!r}\n" + "\n".join(lines))
    done = run.command(sys.executable, path, env=environment(run))
    expect("the page's last line", done.stdout, "2 calls agree, none differs\n")


def test(run, seed="1"):
    try:
        import torch  # pylint: disable=import-outside-toplevel,unused-import
    except ImportError:
        print("skipped: no torch (python3-torch) here")
        sys.exit(SKIP)
    check_hostile(run, int(seed))
    with Golden(run) as golden:
        plain = check_healthy(run, golden.url)
        check_faults(run, golden.url)
        check_page(run, golden.url)
    check_killed(run, plain)
    check_custom(run)


if __name__ == "__main__":
    main(test)
