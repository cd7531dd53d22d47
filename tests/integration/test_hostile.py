#!/usr/bin/python3
"""Names with quotes, line ends, `</script>`, escape codes and bytes that are no UTF-8, in every output; and job directories that are
empty, somebody else's, cut short, huge, or lack a rank."""
import csv
import html.parser
import io
import gzip
import json
import os
import re
import shutil
import sqlite3

from harness import Failure, Run, expect, expect_true, main

NAMES = (b'quo"ted', b"apo'strophe", b"line\nend", b"tab\tand\rreturn", b"</script><script>alert(1)</script>", b"<img src=x onerror=alert(1)>",
         b"\x1b[31mred\x1b[0m\x1b]0;title\x07", b"\xff\xfe\x80broken", b"\xe2\x80\xaereversed", b"semi;colon space", b"=1+1", b"back\\slash {brace}",
         b"%s%n%d", b"\xc3\xa4\xe6\x97\xa5\xf0\x9f\x98\x80", b"a" * 200, b"\x00"[:0] + b" ")
TIMES = 3
PATH = b'dir "<x>\n\x1b[7m\xff'
DONE, FAILED, USAGE, ABSENT = 0, 1, 2, 3
# What moves a terminal's cursor or colours its text, or turns the direction of a line.
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# What other programs read keeps the letters as they are.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def formats(run, command):
    """All that --format takes, as the command itself says."""
    said = run.cli(command, "--format", "nonsense", check=False).stderr.splitlines()[0].split("; try ")[1]
    return re.findall(r"[a-z]+", said.replace(" or ", " "))


def text_of(what, data):
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Failure(f"{what}: no UTF-8: {error}") from error


def check_terminal(what, data, unsafe=UNSAFE):
    text = text_of(what, data).replace("\r\n", "\n")
    found = unsafe.search(text)
    expect_true(f"{what}: {found and text[max(0, found.start() - 60):found.end() + 20]!r} reaches the terminal", not found)


class Page(html.parser.HTMLParser):
    """Counts elements, and takes the texts of scripts apart."""

    def __init__(self):
        super().__init__()
        self.images, self.handlers = 0, 0

    def handle_starttag(self, tag, attrs):
        self.images += tag == "img"
        self.handlers += sum(name.startswith("on") for name, _ in attrs)


def check_html(what, data):
    text = text_of(what, data)
    expect_true(f"{what}: a name ends a script", "alert(1)</script>" not in text and "<img src=x" not in text)
    page = Page()
    page.feed(text)
    expect(f"{what}: images and handlers", (page.images, page.handlers), (0, 0))


def check_json(what, data):
    json.loads(text_of(what, data))


def check_csv(what, data):
    rows = list(csv.reader(io.StringIO(text_of(what, data), newline="")))
    expect(f"{what}: lengths of rows", {len(row) for row in rows}, {len(rows[0])})
    check_terminal(what, data, CONTROL)
    # A spreadsheet takes such a text for a formula.
    expect_true(f"{what}: a formula", not any(cell.startswith("=1") for row in rows for cell in row))


def check_folded(what, data):
    for line in text_of(what, data).splitlines():
        expect_true(f"{what}: {line!r}", re.fullmatch(r".+ \d+", line))
    check_terminal(what, data, CONTROL)


def check_pprof(what, data):
    gzip.decompress(data)


CHECKS = {"pprof": check_pprof, "summary": check_terminal, "text": check_terminal, "json": check_json, "chrome": check_json, "csv": check_csv, "html": check_html,
          "folded": check_folded}


def cli(run, *arguments, code=DONE):
    done = run.command(run.binary("hookcli"), *arguments, check=False, text=False)
    if done.returncode != code:
        raise Failure(f"{arguments}: exit {done.returncode}: {done.stderr[-500:]!r}")
    check_terminal(f"{arguments}: messages", done.stderr)
    return done.stdout


def check_sqlite(run, job):
    path = run.path("out.sqlite")
    cli(run, "export", job, "--format", "sqlite", "-o", path)
    with sqlite3.connect(path) as base:
        views = [name for (name,) in base.execute("select name from sqlite_master where type in ('table', 'view')")]
        expect_true("sqlite: tables", views)
        for view in views:
            base.execute(f'select * from "{view}"').fetchall()


def check_perfetto(run, job):
    cli(run, "export", job, "--format", "perfetto", "-o", run.path("out.perfetto"))


def check_kineto(run, job):
    cli(run, "export", job, "--format", "kineto", "-o", run.path("out.kineto"))
    for name in os.listdir(run.path("out.kineto")):
        with open(run.path("out.kineto", name), "rb") as file:
            check_json(f"kineto {name}", file.read())


# What is written to a file, or to a directory of them.
FILES = {"sqlite": check_sqlite, "perfetto": check_perfetto, "kineto": check_kineto}


def check_outputs(run, job):
    reports, exports = formats(run, "report"), formats(run, "export")
    expect_true(f"formats {reports} {exports}", {"summary", "text", "json", "csv"} <= set(reports) and "chrome" in exports)
    for command, kinds in (("report", reports), ("export", exports)):
        for kind in kinds:
            if kind in FILES:
                FILES[kind](run, job)
            else:
                CHECKS[kind](f"{command} {kind}", cli(run, command, job, "--format", kind))
    for by in ("function", "rank", "library", "thread", "host", "symbol", "memory"):
        check_terminal(f"by {by}", cli(run, "report", job, "--by", by))
    check_terminal("log", cli(run, "log", job))
    check_terminal("ls", cli(run, "ls"))
    check_json("ls", cli(run, "ls", "--json"))
    check_terminal("top", cli(run, "top", job, "-b", "-n", "1"))
    check_terminal("diff", cli(run, "diff", job, job))
    check_json("diff", cli(run, "diff", job, job, "--format", "json"))
    check_html("diff", cli(run, "diff", job, job, "--format", "html"))


def check_counts(run, job):
    """Nothing is confused with something else: every name has its three ranges."""
    report = json.loads(cli(run, "report", job, "--format", "json"))
    ranges = [row["calls"] for row in report["calls"] if row["domain"] == "user"]
    expect("ranges, marks and counters", sum(ranges), 3 * TIMES * len(NAMES))
    names = {row["function"] for row in report["calls"] if row["domain"] == "user"}
    expect("names", len(names), len(NAMES))
    expect_true("the longest is cut at 127", "a" * 127 in names)
    heap = [row for row in report["memory"] if row["kind"] == "heap" and "'.so" in row["library"]]
    expect_true(f"the library's memory: {report['memory']}", len(heap) == 1 and heap[0]["live_bytes"] >= 5000)


def make_job(run):
    directory = os.path.join(os.fsencode(run.directory), PATH)
    os.mkdir(directory)
    built = os.path.join(run.build, "tests", "integration", "hostile")
    program, library = os.path.join(directory, b"pro\"gram"), os.path.join(directory, b"lib\xfe'.so")
    shutil.copy(os.path.join(built, "hostile_program"), program)
    shutil.copy(os.path.join(built, "libhostile_library.so"), library)
    run.command(run.binary("hookcli"), "run", "-q", "--store", run.path("store"), "--job", "hostile <\"&'>", "--hooks", "libc", "--",
                os.fsdecode(program), os.fsdecode(library), *(os.fsdecode(name) for name in NAMES), text=False)
    return run.path("store", next(name for name in os.listdir(run.path("store")) if name.startswith("hostile")))


# ---- directories that are no jobs, or no longer


def every_command(run, what, job, codes):
    """No crash, no hang, one of CODES, and a line that says why where it is not 0."""
    for arguments in (("report",), ("report", "--format", "json"), ("report", "--format", "text"), ("export", "--format", "chrome"),
                      ("export", "--format", "csv"), ("log",), ("top", "-b", "-n", "1"), ("diff", job)):
        done = run.command(run.binary("hookcli"), *arguments, job, check=False, text=False)
        wanted = (0, 2) if arguments[0] == "diff" else codes
        expect_true(f"{what}: {arguments} leaves with {done.returncode}: {done.stderr[-300:]!r}", done.returncode in wanted)
        expect_true(f"{what}: {arguments} leaves with {done.returncode} and says nothing", done.returncode == 0 or done.stderr)


def copy(run, job):
    shutil.rmtree(run.path("hurt"), ignore_errors=True)
    shutil.copytree(job, run.path("hurt"), symlinks=True)
    return run.path("hurt")


def check_directories(run, job):
    os.mkdir(run.path("empty"))
    every_command(run, "empty directory", run.path("empty"), (ABSENT,))
    os.mkdir(run.path("foreign"))
    for name in ("job.json", "statistics", "0.chunks", "report.json"):
        with open(run.path("foreign", name), "wb") as file:
            file.write(b"{\"a\": [1, 2, 3]}\n" * 1000)
    every_command(run, "foreign files", run.path("foreign"), (FAILED, ABSENT))
    for name in sorted(os.listdir(job)):
        for part in (0, 1, 2, 3):
            hurt = copy(run, job)
            os.truncate(os.path.join(hurt, name), os.path.getsize(os.path.join(hurt, name)) * part // 4)
            every_command(run, f"{name} cut to {part}/4", hurt, (DONE, FAILED, ABSENT))
        # Sparse: a terabyte of nothing behind it. It must neither be read to its end nor be believed.
        hurt = copy(run, job)
        os.truncate(os.path.join(hurt, name), 1 << 40)
        every_command(run, f"{name} of a terabyte", hurt, (DONE, FAILED, ABSENT))
        hurt = copy(run, job)
        os.unlink(os.path.join(hurt, name))
        os.mkdir(os.path.join(hurt, name))
        every_command(run, f"{name} is a directory", hurt, (DONE, FAILED, ABSENT))
        hurt = copy(run, job)
        os.unlink(os.path.join(hurt, name))
        os.mkfifo(os.path.join(hurt, name))
        every_command(run, f"{name} is a pipe", hurt, (DONE, FAILED, ABSENT))


def test(run: Run):
    job = make_job(run)
    check_counts(run, job)
    check_outputs(run, job)
    check_directories(run, job)


if __name__ == "__main__":
    main(test)
