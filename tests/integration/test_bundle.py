#!/usr/bin/python3
"""The bundle: what is in it, that it needs nothing of the machine, and that it is the same when it is made again.

`test_bundle.py BUILD`: its programs run in an empty environment, in a root directory without any library, and in one with
musl alone. `test_bundle.py BUILD old`: they trace Debian 11's Python in a root directory with glibc 2.31. Skipped (77) where
that is not available.
"""
import os
import pty
import re
import subprocess
import sys

from harness import Run, expect, expect_true, main

SKIPPED = 77
HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
BYTES_MAX = 16 << 20
EPOCH = 1234567890
CALLS = 77
PROGRAM = f"import os; [os.getppid() for _ in range({CALLS})]"
LIBRARY = "lib/hooktrace/libhookagent.so"
OLD_PROGRAM = ("python3.9-minimal", "libpython3.9-minimal", "libexpat1", "zlib1g")
# In a mount namespace: a root directory $1 with /proc, /dev and an empty /dev/shm, and COMMAND in it.
ROOT = ('cd "$1" && mkdir -p proc dev tmp && mount --rbind /proc proc && mount --rbind /dev dev && mount -t tmpfs tmpfs dev/shm '
        '&& shift && exec chroot . "$@"')


def make(run):
    run.command(os.path.join(SOURCE, "deploy", "bundle.sh"), run.path("made"),
                env={"BUNDLE_BUILD": os.path.join(run.build, "bundle-tree"), "SOURCE_DATE_EPOCH": str(EPOCH)})
    names = sorted(os.listdir(run.path("made")))
    expect_true(f"names: {names}", len(names) == 2 and re.fullmatch(r"hooktrace-\d+\.\d+\.\d+-linux-x86_64\.tar\.gz", names[0]))
    expect("the other file", names[1], f"{names[0]}.sha256")
    return run.path("made", names[0])


def unpack(run, archive, directory):
    os.makedirs(directory)
    run.command("tar", "-xzf", archive, "--strip-components=1", cwd=directory)
    return directory


# ---- what is in it ----

def check_archive(run, archive):
    expect_true(f"{os.path.getsize(archive)} bytes", os.path.getsize(archive) < BYTES_MAX)
    run.command("sha256sum", "--quiet", "-c", f"{archive}.sha256", cwd=run.path("made"))
    lines = run.command("tar", "--utc", "--full-time", "-tvzf", archive).stdout.splitlines()
    expect("owners and times", {tuple(line.split()[i] for i in (1, 3, 4)) for line in lines}, {("0/0", "2009-02-13", "23:31:30")})
    with open(archive, "rb") as stream:
        before = stream.read()
    make(run)
    with open(archive, "rb") as stream:
        expect_true("made again, it is the same", stream.read() == before)


def check_files(run, root):
    """Everything is summed up, the programs are static, and no path of the build is in them."""
    run.command("sha256sum", "--quiet", "-c", "SHA256SUMS", cwd=root)
    with open(os.path.join(root, "SHA256SUMS"), encoding="utf-8") as stream:
        listed = {os.path.normpath(line.split(maxsplit=1)[1].strip()) for line in stream}
    found = {os.path.relpath(os.path.join(directory, name), root) for directory, _, names in os.walk(root) for name in names
             if not os.path.islink(os.path.join(directory, name))}
    expect("files and sums", found - {"SHA256SUMS"}, listed)
    for name in ("bin/hookcli", "bin/hookcollector", LIBRARY):
        path = os.path.join(root, name)
        headers = run.command("readelf", "--wide", "--program-headers", "--dynamic", path).stdout
        expect(f"{name} needs", re.findall(r"INTERP|NEEDED\).*\[(.*)\]", headers), ["libc.so.6"] if name == LIBRARY else [])
        with open(path, "rb") as stream:
            text = stream.read()
        expect(f"paths in {name}", [word for word in (SOURCE, run.build) if os.fsencode(word) in text], [])
    # The same files as an installation has, whose layout the manifests are checked with.
    run.command("cmake", "--install", run.build, "--prefix", run.path("installed"))
    for name in ("bin/hookcli", "bin/hookcollector", LIBRARY):
        expect_true(f"{name} is installed at the same place", os.path.exists(run.path("installed", name)))


def check_licences(root):
    """The truth is the list of what a build needs: each library of it is linked in."""
    with open(os.path.join(SOURCE, "deploy", "packages"), encoding="utf-8") as stream:
        first = stream.read().split("\n# tests only", 1)[0]
    wanted = {line for line in first.splitlines() if re.fullmatch(r"(lib.*|zlib1g|uthash)-dev|libjs-.*", line)}
    found = os.listdir(os.path.join(root, "share/doc/hooktrace/licences"))
    expect("packages without a licence", wanted - set(found), set())
    expect_true("texts", all(os.path.getsize(os.path.join(root, "share/doc/hooktrace/licences", name)) > 500 for name in found))


# ---- running it ----

def counted(report):
    return [row["calls"] for row in report["calls"] if row["function"] == "getppid"]


def check_empty_environment(run, root):
    cli = os.path.join(root, "bin/hookcli")
    store = run.path("store")
    done = subprocess.run(["env", "-i", cli, "run", "--store", store, "--job", "bare", "--hooks", "*:getppid", "--", "/usr/bin/python3",
                           "-c", PROGRAM], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False, cwd=run.directory)
    expect(f"exit; {done.stderr!r}", done.returncode, 0)
    job = os.path.join(store, "bare")
    expect("calls", counted(run.report(job)), [CALLS])
    for words in (["--format", "json"], ["--format", "text"], ["--by", "library"]):
        ours = run.cli("report", job, *words).stdout
        expect(f"report {words}", run.command(cli, "report", job, *words).stdout, ours)
    check_lines(run, cli, store)
    return job


def check_lines(run, cli, store):
    """Debug information is read by libraries that are linked in."""
    program = os.path.join(run.build, "tests/integration/symbols/symbols")
    run.command("env", "-i", cli, "run", "--store", store, "--job", "lines", "--hooks", "*:symbols_called", "--level", "record+stack", "--", program)
    text = run.command(cli, "report", os.path.join(store, "lines"), "--by", "stack").stdout
    expect_true(f"lines: {text[:400]}", re.search(r"inner \(steps\.c:\d+\) \[inlined\]\n +#2 +outer \(steps\.c:\d+\)\n", text))


def namespace():
    words = ["unshare", "--mount"] + ([] if os.getuid() == 0 else ["--user", "--map-root-user"])
    done = subprocess.run([*words, "true"], stderr=subprocess.DEVNULL, check=False)
    return None if done.returncode else words


class Root:
    """A root directory that has the bundle in /opt/hooktrace, and what its caller puts there."""

    def __init__(self, run, archive, name):
        self.run, self.path = run, run.path(name)
        os.makedirs(self.path, exist_ok=True)
        unpack(run, archive, os.path.join(self.path, "opt/hooktrace"))

    def words(self, *command):
        return [*namespace(), "sh", "-c", ROOT, "sh", self.path, *command]

    def command(self, program, *arguments, check=True):
        done = subprocess.run(self.words(f"/opt/hooktrace/bin/{program}", *arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False, env={"PATH": os.environ["PATH"]})
        if check:
            expect(f"{program} {arguments}: {done.stderr[-800:]!r}", done.returncode, 0)
        return done

    def trace(self, *command, check=True):
        return self.command("hookcli", "run", "--store", "/store", "--job", "here", "--hooks", "*:getppid", "--", *command, check=check)


def screen_of(words, terminal):
    """What `hookcli top` writes to a terminal until it draws its first screen. Leaving takes `q`."""
    child, master = pty.fork()
    if child == 0:
        os.execvpe(words[0], words, {"PATH": os.environ["PATH"], "TERM": terminal})
    written = b""
    os.write(master, b"q")
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            part = b""
        if not part:
            break
        written += part
    os.waitpid(child, 0)
    return written


def check_no_library(run, archive, job):
    """Nothing but the bundle and a job: report, doctor, and top on a terminal that only the bundle's entries describe."""
    root = Root(run, archive, "empty")
    run.command("cp", "-R", job, os.path.join(root.path, "job"))
    report = root.command("hookcli", "report", "/job", "--format", "json").stdout
    expect_true("the report is the same", report == run.cli("report", job, "--format", "json").stdout)
    expect_true("hookcollector", "hookcollector" in root.command("hookcollector", "--version").stdout)
    expect_true("doctor finds the agent", f"/opt/hooktrace/{LIBRARY}" in root.command("hookcli", "doctor", check=False).stdout)
    screen = screen_of(root.words("/opt/hooktrace/bin/hookcli", "top", "/job"), "xterm-256color")
    expect_true(f"top takes the screen: {screen[:300]!r}", b"\x1b[?1049h" in screen and b"\x1b[?1049l" in screen)


def check_musl(run, archive):
    """Where the C library is musl the tools run, and say that the program is not traced; its status is passed on."""
    root = Root(run, archive, "musl")
    os.makedirs(os.path.join(root.path, "lib"))
    run.command("cp", "-L", "/lib/ld-musl-x86_64.so.1", os.path.join(root.path, "lib"))
    with open(run.path("musl.c"), "w", encoding="ascii") as source:
        source.write("int main(void) { return 7; }\n")
    run.command("musl-gcc", "-o", os.path.join(root.path, "program"), run.path("musl.c"))
    done = root.trace("/program", check=False)
    expect(f"status passed on: {done.stderr!r}", done.returncode, 7)
    expect_true(f"musl is named: {done.stderr!r}", "musl" in done.stderr)


def build_names(run, root):
    """A root whose /etc/nsswitch.conf names a module that leaves a file when it is loaded, and a static program that looks up."""
    for directory in ("etc", "lib/x86_64-linux-gnu"):
        os.makedirs(os.path.join(root.path, directory))
    for name, text in (("hosts", "127.0.0.1 hookhost\n"), ("nsswitch.conf", "hosts: hooktest files\n")):
        with open(os.path.join(root.path, "etc", name), "w", encoding="ascii") as file:
            file.write(text)
    with open(run.path("module.c"), "w", encoding="ascii") as file:
        file.write("#include <fcntl.h>\n__attribute__((constructor)) static void load(void) { creat(\"/loaded\", 0600); }\n")
    with open(run.path("look.c"), "w", encoding="ascii") as file:
        file.write("#include <netdb.h>\n#include <stddef.h>\nint main(void) { struct addrinfo *list; "
                   "return getaddrinfo(\"hookhost\", NULL, NULL, &list); }\n")
    libraries = os.path.join(root.path, "lib/x86_64-linux-gnu")
    run.command("cc", "-shared", "-fPIC", "-o", os.path.join(libraries, "libnss_hooktest.so.2"), run.path("module.c"))
    run.command("cc", "-static", "-o", os.path.join(root.path, "look"), run.path("look.c"))
    for line in run.command("ldd", "/usr/bin/true").stdout.splitlines():
        for path in re.findall(r"(/\S*(?:libc\.so\.6|ld-linux-x86-64\.so\.2))", line):
            run.command("cp", "-L", path, libraries)


def check_name_service(run, archive):
    """A look-up finds what /etc/hosts has, and loads no module. A static program of no precaution loads it."""
    root = Root(run, archive, "names")
    build_names(run, root)
    loaded = os.path.join(root.path, "loaded")
    root.command("hookcollector", "keygen", "/keys")
    done = root.command("hookcli", "status", "--collector", "tls+tcp://hookhost:1", "--tls-ca", "/keys/collector.crt", "--token-file",
                        "/keys/read.token", check=False)
    expect_true(f"the name is found: {done.stderr!r}", "no collector is running" in done.stderr)
    expect_true("no module is loaded", not os.path.exists(loaded))
    expect("the other program finds it too", subprocess.run(root.words("/look"), check=False).returncode, 0)
    expect_true("and loads the module", os.path.exists(loaded))


def check_old(run, archive):
    old = run.path("old")
    fetched = subprocess.run([os.path.join(HERE, "old_glibc.sh"), old, *OLD_PROGRAM], check=False)
    if fetched.returncode == SKIPPED:
        sys.exit(SKIPPED)
    expect("old_glibc.sh", fetched.returncode, 0)
    root = Root(run, archive, "old")
    root.trace("/usr/bin/python3.9", "-S", "-c", PROGRAM + "; import platform; assert platform.libc_ver()[1] == '2.31'")
    inside = root.command("hookcli", "report", "/store/here", "--format", "json").stdout
    expect("the report is the same", run.cli("report", os.path.join(root.path, "store/here"), "--format", "json").stdout, inside)
    expect("calls", counted(run.report(os.path.join(root.path, "store/here"))), [CALLS])


def test(run: Run, which=""):
    if os.uname().machine != "x86_64":
        sys.exit(SKIPPED)
    archive = make(run)
    if which == "old":
        check_old(run, archive)
        return
    check_archive(run, archive)
    root = unpack(run, archive, run.path("anywhere", "there"))
    check_files(run, root)
    check_licences(root)
    job = check_empty_environment(run, root)
    if not namespace():
        print("no mount namespace here: not tried in other root directories")
        return
    check_no_library(run, archive, job)
    check_musl(run, archive)
    check_name_service(run, archive)


if __name__ == "__main__":
    main(test)
