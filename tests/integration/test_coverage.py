#!/usr/bin/python3
"""What cannot be seen is said: programs that the agent cannot enter, hooks that match nothing, the agent switched off."""
import json
import os
import shutil

from harness import Run, expect, expect_true, main, wait_for
from told import Told

EXIT = 7


def program_of(run: Run, name):
    return os.path.join(run.build, "tests", "integration", "objects", "foreign_" + name)


def doctor(run, *command, **env):
    done = run.cli("doctor", "--json", "--", *command, check=False, env=env)
    told = json.loads(done.stdout[done.stdout.index("{"):])
    checks = {check["name"]: check for check in told["checks"]}
    return done.returncode, checks["program"], told.get("processes"), told.get("exit")


def script(run, name, interpreter):
    path = run.path(name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!{interpreter}\n")
    os.chmod(path, 0o755)
    return path


def patched(run, source, name, at, byte):
    """A copy of a program with one byte of its ELF header changed."""
    path = run.path(name)
    shutil.copy(source, path)
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(bytes([byte]))
    return path


def foreign(run):
    """Programs by what doctor must say of them; None: it can be traced."""
    static, none = program_of(run, "static"), program_of(run, "none")
    cases = [(none, None), (static, "static program"), (program_of(run, "static_pie"), "static program"),
             (script(run, "script", static), "static program"), (script(run, "shell", "/bin/sh"), None),
             (patched(run, none, "small", 4, 1), "32-bit")]
    if os.path.exists(program_of(run, "musl")):
        cases.append((program_of(run, "musl"), "musl"))
    else:
        print("musl-gcc is not installed: programs linked with musl are not tried")
    if os.geteuid() == 0 and not os.statvfs(run.directory).f_flag & os.ST_NOSUID:
        path = run.path("setuid")
        shutil.copy(none, path)
        os.chmod(run.directory, 0o755)
        os.chown(path, 1, 1)
        os.chmod(path, 0o4755)
        cases.append((path, "setuid"))
    return cases


def check_go(run: Run):
    """A Go program makes its system calls itself: doctor and the summary say so."""
    if not shutil.which("go"):
        print("go is not installed: Go programs are not tried")
        return
    with open(run.path("main.go"), "w", encoding="ascii") as file:
        file.write('package main\n\nimport (\n\t"net"\n\t"os"\n)\n\n'
                   'func main() {\n\t_, _ = os.ReadFile("/etc/hostname")\n\t_, _ = net.LookupHost("localhost")\n}\n')
    run.command("go", "build", "-o", run.path("go"), run.path("main.go"),
                env=run.environment(GOCACHE=run.path("cache"), GOPATH=run.path("gopath"), CGO_ENABLED="1"))
    check = doctor(run, run.path("go"))[1]
    expect_true(f"Go: {check}", check["state"] == "note" and "Go makes its system calls itself" in check["detail"])
    traced = run.cli("run", "--hooks", "*:strtold", "--store", run.path("go-store"), "--", run.path("go"))
    expect_true(f"the summary: {traced.stderr}", "Go makes its system calls itself" in traced.stderr)


def check_empty_tables(run: Run):
    """A table without rows says why."""
    run.cli("run", "-q", "--level", "count", "--store", run.path("empty"), "--job", "j", "--", "cat", "/dev/null")
    store = run.path("empty", "j")
    expect_true("no threads", "run with --level '*=record'" in run.cli("report", "--by", "thread", "--format", "text", store).stdout)
    expect_true("no memory", "--hooks libc" in run.cli("report", "--by", "memory", "--format", "text", store).stdout)


def check_foreign(run: Run):
    """Doctor names them in one line with the fix, and run leaves them as they are and says why it saw nothing."""
    for path, word in foreign(run):
        code, check, processes, status = doctor(run, path, "a", "b")
        expect_true(f"{path}: {check}", (check["state"] == "ok") == (word is None) and (word or "") in check["detail"])
        expect_true(f"{path}: a fix if there is a fault, {check}", bool(check["fix"]) == bool(word))
        expect(f"{path}: doctor's exit", code, 1 if word else 0)
        if word == "32-bit":
            continue  # its code is ours: the kernel and the loader do not look at the byte changed
        alone = run.command(path, "a", "b", check=False)
        expect(f"{path}: exit of the trial", status, alone.returncode)
        expect(f"{path}: processes", len(processes), 0 if word else 1)
        traced = run.trace(path, "a", "b", check=False)
        expect(f"{path}: exit and output", (traced.returncode, traced.stdout), (alone.returncode, alone.stdout))
        expect(f"{path}: run says why", f"! {check['detail']} -> {check['fix']}" in traced.stderr, word is not None)
        quiet = run.trace(path, "a", "b", check=False, options=("-q",))
        expect(f"{path}: nothing else on stderr", quiet.stderr, alone.stderr)


def check_missing(run: Run):
    for path, word in (run.path("nowhere"), "no such command"), (run.directory, "not an executable"), \
            (script(run, "lost", "/nowhere/sh"), "interpreter"):
        code, check, processes, _ = doctor(run, path)
        expect_true(f"{path}: {check}", word in check["detail"] and check["fix"])
        expect(f"{path}: not tried", (code, processes), (1, None))


def check_nothing_matches(run: Run):
    hooks = "libnosuch.so:f"
    words = f"nothing hooked: no object calls what '{hooks}' names"
    traced = run.trace(program_of(run, "none"), hooks=[hooks], check=False, options=("--job", "nothing"))
    expect_true(f"the summary says why: {traced.stderr}", f"no call was seen: {words}" in traced.stderr)
    row = run.report(run.path("store", "nothing"))["coverage"][0]
    expect("coverage", (row["slots_found"], row["slots_patched"], row["hooks"] > 0, row["notes"]), (0, 0, True, words))
    text = run.cli("report", run.path("store", "nothing"), "--format", "text").stdout
    expect_true(f"the report says why: {text}", f"no call was seen: {words}" in text)
    done = run.cli("doctor", "--json", "--hooks", hooks, "--", program_of(run, "none"))
    processes = json.loads(done.stdout)["processes"]
    expect("doctor says why", processes[0]["notes"], words)


def hooks_of(run, program, *hooks):
    """What doctor says of hooks that will see nothing."""
    options = [word for hook in hooks for word in ("--hooks", hook)]
    done = run.cli("doctor", "--json", *options, "--", program_of(run, program), check=False)
    return [check for check in json.loads(done.stdout[done.stdout.index("{"):])["checks"] if check["name"] == "hooks"]


def check_hooks(run: Run):
    """An uncalled function is reported with similar names; so is one that needs no slot."""
    told = hooks_of(run, "none", "libc.so*:putss", "libc.so*:puts")
    expect("hooks that match nothing", len(told), 1)
    expect_true(f"the nearest: {told}", "'putss'" in told[0]["detail"] and "puts" in told[0]["fix"])
    for hooks in (), ("mpi",), ("*:MPI_Barrier",):
        told = hooks_of(run, "inside", *hooks)
        expect(f"{hooks}: hooks of functions inside", len(told), 1)
        expect_true(f"{hooks}: {told}", "part of the program itself (MPI_Barrier)" in told[0]["detail"])
    expect("of other hooks", hooks_of(run, "inside", "blas"), [])


def check_constructors(run: Run):
    text = run.cli("doctor", "--", program_of(run, "none"), check=False).stdout
    expect_true(f"what runs before the agent is said: {text}", "not seen: what constructors" in text)


def check_off(run: Run):
    traced = run.trace(program_of(run, "none"), check=False, env={"HOOK_DISABLE": "1"})
    expect("exit", traced.returncode, EXIT)
    expect_true(f"run says why: {traced.stderr}", "! HOOK_DISABLE=1: the agent stays off" in traced.stderr)
    expect_true("so does the summary", "no call was seen: no process loaded the agent" in traced.stderr)


def check_counts(run: Run):
    """What is refused is counted by reason, the same in doctor and in the report; what is found is patched or refused."""
    command = ("/bin/sh", "-c", "exit 0")
    hooks = "libc.so.6:*"
    run.trace(*command, hooks=[hooks], level="count", options=("-q", "--job", "counts"))
    row = run.report(run.path("store", "counts"))["coverage"][0]
    _, _, processes, _ = doctor(run, *command, HOOK_HOOKS=hooks)
    for counts in row, processes[0]:
        expect(f"reasons add up: {counts}", sum(counts["refused"].values()), counts["slots_refused"])
        expect("found", counts["slots_found"], counts["slots_patched"] + counts["slots_refused"])
        expect_true(f"denied: {counts}", counts["refused"].get("denied", 0) > 0 and "deny list" in counts["notes"])
    expect("doctor and report", {key: processes[0][key] for key in row if key != "pid"},
           {key: value for key, value in row.items() if key != "pid"})


def check_status(run: Run):
    """Of running jobs status shows each process."""
    run.start_collector()
    with Told(run, "seen") as told:
        told.call("nothing", 0)

        def coverage():
            jobs = json.loads(run.cli("status", "--json").stdout)["jobs"]
            return jobs and jobs[0]["coverage"]
        row = wait_for("the process in the status", coverage)[0]
        expect_true(f"status: {row}", row["pid"] == told.process.pid and row["slots_patched"] > 0)
        expect("status: found", row["slots_found"], row["slots_patched"] + row["slots_refused"])
        text = run.cli("status").stdout
        expect_true(f"status: {text}", "coverage of" in text and f" {told.process.pid} " in text)


def test(run):
    check_go(run)
    check_empty_tables(run)
    check_foreign(run)
    check_missing(run)
    check_nothing_matches(run)
    check_hooks(run)
    check_constructors(run)
    check_off(run)
    check_counts(run)
    check_status(run)


if __name__ == "__main__":
    main(test)
