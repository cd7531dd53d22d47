#!/usr/bin/python3
"""Programs that are started without the agent are named with the reason, whichever function starts them; those with it are not.

The truth is the list of what each case starts. The status that comes back says that the program ran with its arguments, as it
does without hooktrace.
"""
import os
import shutil

from harness import Run, expect, expect_true, main

WAYS = ("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "vexecve", "vexecvp", "vexecl", "posix_spawn",
        "posix_spawnp", "system", "popen")
SHELLS = ("system", "popen")
LEFT = {"kept": False, "more": False, "empty": True, "other": True}
ARGUMENTS, FAILED, SHELL_FAILED = 53, 77, 127


class Starter:
    def __init__(self, run):
        self.run, self.job = run, 0
        self.directory = os.path.join(run.build, "tests", "integration", "life")

    def path(self, name):
        return os.path.join(self.directory, name)

    def start(self, *command, status=ARGUMENTS):
        """(what ran without the agent, the summary). The list is {(program, reason): times}."""
        self.job += 1
        name = f"job-{self.job}"
        done = self.run.trace(*command, hooks=["*:getppid"], options=("--job", name), check=False)
        expect(f"status of {command}", done.returncode, status)
        listed = {}
        for row in self.run.report(self.run.path("store", name))["without_agent"]:
            key = (row["program"], row["reason"])
            expect_true(f"{command}: two rows for {key}", key not in listed)
            listed[key] = row["times"]
        return listed, done.stderr


def check_environments(starter):
    """Every function, with and without the agent in the new environment."""
    program = starter.path("starts_target")
    for way in WAYS:
        for environment, lost in LEFT.items():
            named = f"exec {program} one two three" if way in SHELLS else "target" if way == "fexecve" else program
            # The end of a long name is what an entry has room for.
            wanted = {(named[-111:], "environment"): 1} if lost else {}
            expect(f"{way} {environment}", starter.start(starter.path("starts"), way, program, environment)[0], wanted)


def check_programs(starter):
    """Static programs are named as such, and a start that fails is not named."""
    static = starter.path("starts_static")
    for way in ("execve", "execlp", "posix_spawn"):
        for environment in ("kept", "empty"):
            expect(f"static {way}", starter.start(starter.path("starts"), way, static, environment)[0], {(static[-111:], "static"): 1})
        for program in ("/no/such/program", "no-such-program"):
            listed, _ = starter.start(starter.path("starts"), way, program, "empty", status=FAILED)
            expect(f"{way} of {program}", listed, {})
    broken = starter.run.path("broken")
    with open(broken, "wb") as file:
        file.write(b"\x7fELF" + bytes(100))
    os.chmod(broken, 0o755)
    expect("a file that the kernel refuses", starter.start(starter.path("starts"), "execve", broken, "empty", status=78)[0], {})
    script = starter.run.path("script")
    with open(script, "w", encoding="ascii") as file:
        file.write(f"#!{static} one\n")
    os.chmod(script, 0o755)
    expect("an interpreter that is static", starter.start(starter.path("starts"), "execve", script, "kept", status=50)[0],
           {(script, "static"): 1})
    # In a shell the command itself is started by a traced process.
    expect("a static program in a shell", starter.start(starter.path("starts"), "system", static, "kept")[0], {(static[-111:], "static"): 1})


def check_rights(starter):
    if os.getuid() != 0:
        print("not root: a setuid program is not tried")
        return
    other = starter.run.path("other")
    shutil.copy(starter.path("starts_target"), other)
    os.chown(other, 65534, 65534)
    os.chmod(other, 0o4755)
    expect("setuid", starter.start(starter.path("starts"), "execve", other, "kept")[0], {(other, "rights"): 1})


def check_tools(starter):
    """As people lose it: env, a shell, a clean environment, Python."""
    target = starter.path("starts_target")
    named = (target[-111:], "environment")
    shell = f"unset LD_PRELOAD; {target} 1 2 three; {target} 1 2 three; exit 53"
    python = (f"import os, subprocess, sys; subprocess.run(['{target}'], env={{}}); subprocess.run(['{target}']); "
              f"os.environ.pop('LD_PRELOAD'); sys.exit(subprocess.run(['{target}', '1', '2', 'three']).returncode)")
    for command, times in ((("env", "LD_PRELOAD=libm.so.6", target, "1", "2", "three"), 1), (("env", "-i", target, "1", "2", "three"), 1),
                           (("sh", "-c", shell), 2), (("bash", "-c", shell), 2), (("/usr/bin/python3", "-c", python), 2)):
        listed, summary = starter.start(*command)
        expect(f"{command[:2]}", listed, {named: times})
        lines = [line for line in summary.splitlines() if line.startswith("! ") and "LD_PRELOAD" in line]
        expect_true(f"one line of the summary names it: {summary}", len(lines) == 1 and "starts_target lost LD_PRELOAD" in lines[0])
        expect_true(f"and the fix: {lines}", "$LD_PRELOAD" in lines[0])
    done = starter.run.cli("doctor", "--", "env", "-i", target, check=False)
    expect_true(f"doctor names it: {done.stdout}", "starts_target lost LD_PRELOAD" in done.stdout)


def check_many(starter):
    """More programs than a segment has room for are counted, and named as far as there is room."""
    static = starter.path("starts_static")
    for number in range(40):
        os.symlink(static, starter.run.path(f"program-{number}"))
    words = f"for i in $(seq 0 39); do {starter.run.path('program-')}$i; {starter.run.path('program-')}$i; done; exit 53"
    listed, summary = starter.start("bash", "-c", words)
    expect("named", (len(listed), set(listed.values())), (24, {2}))
    expect_true(f"counted: {summary}", "32 more programs were started without the agent" in summary)


def test(run: Run):
    starter = Starter(run)
    check_environments(starter)
    check_programs(starter)
    check_rights(starter)
    check_tools(starter)
    check_many(starter)


if __name__ == "__main__":
    main(test)
