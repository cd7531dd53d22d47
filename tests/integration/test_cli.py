#!/usr/bin/python3
"""What hookcli says and leaves with: help, wrong usage, jobs and collectors that are not there, and the statuses of run."""
import json
import os
import re
import shutil
import signal
import stat
import subprocess

from harness import TIMEOUT, Run, expect, expect_true, main, wait_for

COMMANDS = ("run", "top", "report", "export", "diff", "status", "ls", "rm", "hooks", "env", "doctor")
DONE, FAILED, USAGE, ABSENT = 0, 1, 2, 3
OURS, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127
ESCAPE = "\033"


def says(run, code, pattern, *arguments, **options):
    """The command leaves with CODE, nothing on stdout and one line on stderr that PATTERN is found in."""
    done = run.cli(*arguments, check=False, **options)
    what = "hookcli " + " ".join(map(str, arguments))
    expect(f"{what}: exit ({done.stderr!r})", done.returncode, code)
    expect(f"{what}: stdout", done.stdout, "")
    # Options and arguments that make no sense: a second line, in the words of all GNU tools, says how to get help.
    lines = [line for line in done.stderr.splitlines() if not line.startswith("Try `hookcli ")]
    expect_true(f"{what}: not one line: {done.stderr!r}", len(lines) == 1)
    expect_true(f"{what}: {done.stderr!r} does not say {pattern!r}", re.search(pattern, done.stderr))


def check_help(run: Run):
    done = run.cli("--help")
    for command in COMMANDS:
        expect_true(f"--help names {command}", re.search(rf"^ +{command} ", done.stdout, re.MULTILINE))
        own = run.cli(command, "--help")
        expect_true(f"{command} --help", own.stdout.startswith("Usage: hookcli " + command) and "--help" in own.stdout)
        expect(f"{command} --help: stderr", own.stderr, "")
        expect(f"help {command}", run.cli("help", command).stdout, own.stdout)
    expect_true("--version", re.fullmatch(r"hookcli \d+\.\d+(\.\d+)?\n", run.cli("--version").stdout))
    says(run, USAGE, "unknown command 'raport'.*--help", "help", "raport")
    done = run.cli(check=False)
    expect("without a command", (done.returncode, done.stdout), (USAGE, ""))
    expect_true("without a command, help", "hookcli run" in done.stderr)
    collector = run.command(run.binary("hookcollector"), "--help")
    expect_true("hookcollector --help", "--store" in collector.stdout)
    version = run.command(run.binary("hookcollector"), "--version").stdout
    expect_true(f"hookcollector --version: {version}", version.startswith("hookcollector "))


def check_full_disk(run: Run):
    """What could not be written is no success."""
    for command in ("--help", "--version", "hooks", "hooks mpi", "env", "doctor", "ls --json", "status --config"):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([run.binary("hookcli"), *command.split()], env=run.environment(), stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=TIMEOUT, check=False)
        expect(f"{command} > /dev/full ({done.stderr!r})", (done.returncode, "No space left" in done.stderr), (FAILED, True))


def check_usage(run: Run):
    says(run, USAGE, "unknown command 'raport'.*--help", "raport")
    says(run, USAGE, "unknown option '--raport'.*--help", "--raport")
    for command in COMMANDS[1:]:
        says(run, USAGE, "'--nonsense'", command, "--nonsense")
        says(run, USAGE, "ipc://", command, "--collector", "http://x", *{"rm": ["x"], "diff": ["x", "y"]}.get(command, []))
    says(run, USAGE, "summary, text, json, csv, html or folded", "report", "--format", "jason")
    says(run, USAGE, "function, rank, library", "report", "--by", "rnak")
    says(run, USAGE, "perfetto, chrome", "export", "--format", "perfeto")
    says(run, USAGE, "'1 parsec'", "export", "--from", "1 parsec")
    says(run, USAGE, "--from is later than --to", "export", "--from", "2s", "--to", "1s")
    says(run, USAGE, "0,4-7", "export", "--ranks", "one")
    says(run, USAGE, "'b'", "report", "a", "b")
    says(run, USAGE, "mpirun, srun", "env", "mpirum")
    says(run, USAGE, "hookcli ls", "rm")
    says(run, USAGE, "0", "top", "-n", "0")
    done = run.command(run.binary("hookcollector"), "--nonsense", check=False)
    expect("hookcollector --nonsense", (done.returncode, done.stdout), (USAGE, ""))
    expect_true(f"hookcollector --nonsense: {done.stderr!r}", "'--nonsense'" in done.stderr)
    with open(run.path("config"), "w", encoding="utf-8") as config:
        config.write("keep = 2 apples\n")
    for words, arguments, variables in (
            ("'3x' (from: HOOK_KEEP)", (), {"HOOK_KEEP": "3x"}),
            (f"'2 apples' (from: {run.path('config')})", ("--config", run.path("config")), {}),
            ("'4y' (from: command line)", ("--keep", "4y"), {"HOOK_KEEP": "3x"}),
            (f"--config {run.path('none')}: No such file", ("--config", run.path("none")), {})):
        done = run.command(run.binary("hookcollector"), *arguments, env=variables, check=False)
        expect(f"hookcollector {arguments} {variables}", (done.returncode, done.stderr.count("\n")), (USAGE, 1))
        expect_true(f"hookcollector {arguments} {variables}: {done.stderr!r}", words in done.stderr)


def check_absent(run: Run):
    for command in ("report", "export", "top"):
        says(run, ABSENT, "no job.*hookcollector", command)
        says(run, ABSENT, "no job 'nowhere'.*hookcli ls", command, "nowhere")
        says(run, ABSENT, "/nowhere: No such file", command, "/nowhere")
    says(run, ABSENT, "no collector.*hookcollector", "status")
    says(run, ABSENT, "no job 'nowhere'", "rm", "--force", "nowhere")
    says(run, ABSENT, "no job 'nowhere'", "rm", "nowhere")
    says(run, ABSENT, "no collector", "report", "--collector", f"ipc://{run.path('none')}")
    os.mkdir(run.path("foreign"))
    with open(run.path("foreign", "file"), "w", encoding="utf-8") as file:
        file.write("somebody's\n")
    for command in ("report", "export"):
        says(run, ABSENT, "no statistics file", command, run.path("foreign"))
    says(run, ABSENT, "no statistics file", "rm", "--force", run.path("foreign"))
    expect("somebody's file", os.listdir(run.path("foreign")), ["file"])
    os.mkdir(run.path("hook-true-killed"))
    run.cli("rm", run.path("hook-true-killed"))
    expect_true("what a run left that was killed at its start", not os.path.exists(run.path("hook-true-killed")))
    expect("ls of nothing", run.cli("ls", "--json").stdout.split(), ["[]"])


def check_run_refuses(run: Run):
    """Before anything starts: one line, and no job is left behind."""
    store = ("--store", run.path("refused"))
    with open(run.path("text"), "w", encoding="utf-8") as file:
        file.write("no program\n")
    says(run, NOT_FOUND, "no-such-program: there is no such command", "run", *store, "--", "no-such-program")
    says(run, NOT_FOUND, "no such command", "run", *store, "--", run.path("missing"), "argument")
    says(run, NOT_EXECUTABLE, "not an executable", "run", *store, "--", run.path("text"))
    says(run, NOT_EXECUTABLE, "not an executable", "run", *store, "--", run.directory)
    says(run, OURS, "no hooks 'mpii'(?=.* auto)(?=.* blas)(?=.* libc)(?=.* mpi)", "run", *store, "--hooks", "mpii", "--", "true")
    says(run, OURS, "absent.hooks: No such file", "run", *store, "--hooks", "absent.hooks", "--", "true")
    says(run, OURS, "hooks file /: Is a directory", "run", *store, "--hooks", "/", "--", "true")
    says(run, OURS, "'libm.so:sin levle=count': unknown attribute", "run", *store, "--hooks", "libm.so:sin levle=count", "--", "true")
    says(run, USAGE, "no hooks 'mpii'", "doctor", "--hooks", "mpii", "--", "true")
    says(run, OURS, "unknown level 'recrod'.*record", "run", *store, "--level", "recrod", "--", "true")
    says(run, OURS, "drop nor wait:MS", "run", *store, "--on-full", "explode", "--", "true")
    says(run, OURS, "'--nonsense'", "run", "--nonsense", "--", "true")
    says(run, OURS, "which command", "run", *store)
    says(run, OURS, "'a/b' is no name", "run", *store, "--job", "a/b", "--", "true")
    says(run, OURS, "libhookagent.so.*HOOK_AGENT", "run", *store, "--", "true", env={"HOOK_AGENT": "/nowhere.so"})
    says(run, 0, "true runs untraced.*" + re.escape(run.path("text")), "run", "--store", run.path("text", "below"), "--", "true")
    expect_true("nothing was made", not os.path.exists(run.path("refused")))


def check_bad_lines(run: Run):
    """What the agent will ignore of a hooks file is said at the start, and the rest holds."""
    path = run.path("bad.hooks")
    for bad in (0, 5, 8):
        with open(path, "w", encoding="utf-8") as file:
            file.write("*:getenv\n" + "*:getenv levle=count\n" * bad)
        done = run.trace("true", options=("-q",), hooks=(path,), store="bad-lines")
        said = [f"hookcli: warning: {path}:{number}: unknown attribute 'levle' (line ignored)"
                for number in range(2, 2 + min(bad, 5))]
        if bad > 5:
            said.append(f"hookcli: warning: {path}: {bad - 5} more lines ignored; `hookcli hooks {path}` shows them")
        expect(f"{bad} bad lines", done.stderr.splitlines(), said)
    done = run.trace("true", options=("-q",), hooks=(path,), store="bad-lines", env={"HOOK_RANK": "1", "HOOK_WORLD_SIZE": "1"})
    expect("another rank says nothing", done.stderr, "")


def check_relative_run_directory(run: Run):
    """No run directory to any of the three programs: each process would look for it somewhere else."""
    here = run.path("relative")
    os.mkdir(here)
    relative = {"HOOK_RUN_DIR": "run"}
    says(run, 0, "true runs untraced.*HOOK_RUN_DIR is not an absolute path", "run", "--", "true", cwd=here, env=relative)
    done = run.command(run.binary("hookcollector"), "--store", run.path("relative-store"), cwd=here, env=relative, check=False)
    expect_true(f"hookcollector: {done.returncode} {done.stderr}",
                done.returncode == FAILED and "HOOK_RUN_DIR is not an absolute path" in done.stderr)
    done = run.command("sh", "-c", "echo fine", cwd=here,
                       env={**relative, "LD_PRELOAD": run.agent(), "HOOK_LOG": "1", "HOOK_KEEP_SEGMENT": "1"})
    expect("the agent's host", done.stdout, "fine\n")
    expect_true(f"the agent: {done.stderr}", "HOOK_RUN_DIR is not an absolute path" in done.stderr)
    expect("left behind", os.listdir(here), [])


SLOW_COLLECTOR = """#!/bin/sh
touch {begun}
read -r line < {go}
echo >&3
"""


def check_interrupted_start(run: Run):
    """Ctrl-C while the collector of one's own comes up: no directory of a job that never was."""
    here, tools = run.path("interrupted"), run.path("tools")
    os.mkdir(here)
    os.mkdir(tools)
    shutil.copy(run.binary("hookcli"), tools)
    names = {name: run.path("tools", name) for name in ("begun", "go")}
    os.mkfifo(names["go"])
    with open(run.path("tools", "hookcollector"), "w", encoding="utf-8") as file:
        file.write(SLOW_COLLECTOR.format(**names))
    os.chmod(run.path("tools", "hookcollector"), 0o755)
    job = subprocess.Popen([run.path("tools", "hookcli"), "run", "--", "true"], cwd=here, env=run.environment(HOOK_AGENT=run.agent()),
                           stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_for("the collector to begin", lambda: os.path.exists(names["begun"]))
    made = os.listdir(here)
    job.send_signal(signal.SIGINT)
    with open(names["go"], "w", encoding="utf-8") as go:
        go.write("on\n")
    stderr = job.communicate(timeout=TIMEOUT)[1]
    expect_true(f"a directory was made: {made}", len(made) == 1 and made[0].startswith("hook-true-"))
    expect("how run ends", (job.returncode, stderr), (-signal.SIGINT, ""))
    expect("left behind", os.listdir(here), [])


def check_statuses(run: Run):
    run.trace("/bin/sh", "-c", "exit 0", options=("-q",))
    for status in (1, 2, 77, 125, 255):
        done = run.trace("/bin/sh", "-c", f"exit {status}", options=("-q",), check=False)
        expect(f"exit {status}", (done.returncode, done.stdout, done.stderr), (status, "", ""))
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV):
        done = run.trace("/bin/sh", "-c", f"kill -{int(number)} $$", options=("-q",), check=False)
        expect(f"killed by {number.name}", done.returncode, 128 + number)
        process = run.report(run.path("store", "hook-last"))["processes"][0]
        expect(f"{number.name} in the report", process["exit"], {"kind": "signal", "code": int(number)})
    with open(run.path("bare"), "w", encoding="utf-8") as file:
        file.write('echo "$0 $*"; exit 5\n')
    os.chmod(run.path("bare"), 0o755)
    done = run.trace(run.path("bare"), "a b", "c", options=("-q",), check=False)
    expect("a script without a first line, as shells run it",
           (done.returncode, done.stdout, done.stderr), (5, run.path("bare") + " a b c\n", ""))
    done = run.trace("/bin/echo", "--hooks", "mpi", "-q", options=("-q",))
    expect("options of the command are its own", done.stdout, "--hooks mpi -q\n")
    done = run.command("sh", "-c", f"echo words | {run.binary('hookcli')} run -q --store {run.path('store')} cat")
    expect("standard input reaches the command", done.stdout, "words\n")


def check_signals(run: Run):
    """Signals to hookcli end the command, which may end as it likes."""
    program = ("import os, signal, sys\n"
               "signal.signal(signal.SIGUSR1, lambda *_: sys.exit(7))\n"
               "signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1, signal.SIGTERM])\n"
               "os.write(1, b'%d\\n' % os.getpid())\n"
               "while True: signal.pause()\n")
    for number, status in ((signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGHUP, 128 + signal.SIGHUP), (signal.SIGUSR1, 7)):
        with subprocess.Popen([run.binary("hookcli"), "run", "-q", "--store", run.path("store"), "--", "/usr/bin/python3", "-c",
                               program], env=run.environment(), cwd=run.directory, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            pid = int(process.stdout.readline())
            process.send_signal(number)
            expect(f"{number.name} to hookcli", process.wait(TIMEOUT), status)
            expect_true("the command is gone", not os.path.exists(f"/proc/{pid}"))


def check_names(run: Run, here):
    """What `ls` lists can be asked for by the id it shows."""
    identity = json.loads(run.cli("ls", "--json", cwd=here).stdout)[0]["id"]
    for name in (identity, identity[:-1]):
        expect_true(f"report {name}", f"== job {identity} ==" in run.cli("report", name, cwd=here).stdout)
    run.cli("run", "-q", "--job", identity + "-too", "--", "true", cwd=here)
    expect_true("an id before a prefix", f"== job {identity} ==" in run.cli("report", identity, cwd=here).stdout)
    says(run, ABSENT, "several jobs", "report", identity[:-1], cwd=here)
    run.cli("rm", "--force", identity + "-too", cwd=here)


def check_places(run: Run):
    """Where results lie, and what the summary is."""
    store = run.path("places")
    for name in ("named", "named-2", "named-3"):
        done = run.cli("run", "--store", store, "--job", "named", "--", "true")
        expect_true(f"{name}: its files are named: {done.stderr}", f"{store}/{name} " in done.stderr)
        expect("the newest", os.path.realpath(os.path.join(store, "hook-last")), os.path.join(store, name))
        expect(f"{name}: mode", stat.S_IMODE(os.stat(os.path.join(store, name)).st_mode), 0o700)
        report = run.report(os.path.join(store, name))
        expect(f"{name}: id and closed", (report["job"]["id"], report["job"]["closed"]), ("named", True))
        files = set(os.listdir(os.path.join(store, name)))
        expect_true(f"{name}: {files}", {"job.json", "statistics", "report.json", "report.html", "summary.txt"} <= files)
    expect("a summary", done.stderr.count("== hooktrace: true == job named =="), 1)
    expect_true("no colours in a pipe", ESCAPE not in done.stderr)
    expect("quiet", run.cli("run", "-q", "--store", store, "--", "true").stderr, "")

    # Without --store and without a collector: beside the user, with a link to the newest.
    here = run.path("here")
    os.mkdir(here)
    run.cli("run", "--", "true", cwd=here)
    links = sorted(os.listdir(here))
    expect_true(f"here: {links}", len(links) == 2 and links[0] == "hook-last" and re.fullmatch(r"hook-true-\w+", links[1]))
    expect("hook-last", os.path.realpath(os.path.join(here, "hook-last")), os.path.join(here, links[1]))
    shown = run.cli("report", cwd=here).stdout
    expect_true("report shows the newest here", "== hooktrace: true ==" in shown)

    check_names(run, here)

    # A running collector keeps the job; here is a link to it.
    collector = run.start_collector()
    run.cli("run", "--job", "shared", "--", "true", cwd=here)
    wanted = run.path("store", "shared")
    expect("link to the job", os.path.realpath(os.path.join(here, "hook-true-shared")), wanted)
    expect("link to the newest", os.path.realpath(os.path.join(here, "hook-last")), wanted)
    expect("by prefix", run.report("shar")["job"]["id"], "shared")
    run.cli("rm", "--force", "shared", cwd=here)
    expect("no link to a job that is gone", [name for name in os.listdir(here) if not os.path.exists(os.path.join(here, name))], [])
    collector.terminate()
    expect("the collector ends", collector.wait(TIMEOUT), 0)


def check_tidy(run: Run):
    """No private run directory, segment or collector outlives its job."""
    expect("left in the run directory", [name for name in os.listdir(run.run_directory) if name.endswith(".seg")], [])
    wait_for("private run directories to go",
             lambda: not [name for name in os.listdir(run.run_directory) if name.startswith("job-")])


def check_terminal(run: Run):
    """Colours on a terminal, but for those who want none, and for terminals that have none."""
    for extra, wanted in (({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
        line = f"{run.binary('hookcli')} run --store {run.path('store')} true"
        done = run.command("script", "-qec", line, "/dev/null", env={"TERM": "xterm", **extra})
        expect(f"colours with {extra}", ESCAPE in done.stdout, wanted)


def test(run):
    check_help(run)
    check_usage(run)
    check_full_disk(run)
    check_absent(run)
    check_run_refuses(run)
    check_bad_lines(run)
    check_relative_run_directory(run)
    check_interrupted_start(run)
    check_statuses(run)
    check_signals(run)
    check_places(run)
    check_terminal(run)
    check_tidy(run)


if __name__ == "__main__":
    main(test)
