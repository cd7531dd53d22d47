#!/usr/bin/python3
"""hookcli run starts the command under every limit and with every store and run directory, traced or untraced: one line says why
not and what to do, and nothing is left behind."""
import os
import subprocess

from harness import Run, expect, expect_true, main

STATUS = 7
TRACED, EITHER = "traced", "either"
MODE_OF_ALL = 0o1777

# Limit, whether the job is traced under it, what the line must name else.
LIMITS = (
    ("n 5", None, "ulimit -n"),
    ("n 8", None, "ulimit -n"),
    ("n 12", None, "ulimit -n"),
    ("v 20000", None, "ulimit -v"),
    ("v 40000", None, "ulimit -v"),
    ("v 100000", EITHER, "ulimit -v"),
    ("f 0", None, "ulimit -f"),
    ("f 4", None, "ulimit -f"),
    ("s 64", TRACED, ""),
)


def start(run: Run, what, before, prefix=()):
    """hookcli run after the shell command BEFORE; the command says what it finds preloaded."""
    words = f"{before}; exec \"$0\" run --store {run.path('store')} -- sh -c 'echo \"${{LD_PRELOAD:+traced}}\"; exit {STATUS}'"
    done = run.command(*prefix, "bash", "-c", words, run.binary("hookcli"), env={"LD_PRELOAD": ""}, check=False)
    expect(f"{what}: status, with {done.stderr}", done.returncode, STATUS)
    return done


def left(run: Run):
    store = os.listdir(run.path("store")) if os.path.isdir(run.path("store")) else []
    return os.listdir(run.run_directory), store


def expect_untraced(run: Run, what, done, named):
    """NAMED: words of the one line."""
    lines = done.stderr.splitlines()
    expect(f"{what}: lines on stderr {lines}", len(lines), 1)
    for word in ("runs untraced", *named):
        expect_true(f"{what}: {word} in {lines}", word in lines[0])
    expect(f"{what}: output", done.stdout, "\n")
    expect(f"{what}: left behind", left(run), ([], []))


def check_limits(run: Run):
    for limit, traced, named in LIMITS:
        done = start(run, f"ulimit -{limit}", f"ulimit -{limit}")
        if traced == TRACED or (traced == EITHER and "runs untraced" not in done.stderr):
            expect(f"ulimit -{limit}: output, with {done.stderr}", done.stdout, "traced\n")
            run.cli("rm", "--force", *(run.path("store", name) for name in os.listdir(run.path("store")) if name != "hook-last"))
            os.unlink(run.path("store", "hook-last"))
        else:
            expect_untraced(run, f"ulimit -{limit}", done, [named])


def check_signal(run: Run):
    """The command meets SIGXFSZ as its user has it, not as hookcli does, and its end by it is passed on."""
    for before, wanted in ("", 128 + 25), ("trap '' XFSZ; ", 1):
        for limit in 0, 100000:
            words = f"{before}ulimit -f {limit}; exec \"$0\" run -q --store {run.path('store')} -- " \
                    f"sh -c 'ulimit -f 0; sh -c \"echo too large >{run.path('out')}\"'"
            done = run.command("bash", "-c", words, run.binary("hookcli"), check=False)
            expect(f"'{before}' with {limit} KiB: status, with {done.stderr}", done.returncode, wanted)


def check_run_directory(run: Run):
    os.chmod(run.run_directory, MODE_OF_ALL)
    done = start(run, "mode 1777", ":")
    expect_untraced(run, "mode 1777", done, ["mode 0700", run.run_directory])
    os.chmod(run.run_directory, 0o700)


def mounts():
    """The command that gives a process mounts of its own; None where this user may not have them."""
    for command in ["unshare", "--mount"], ["unshare", "--mount", "--user", "--map-root-user"]:
        if subprocess.run([*command, "mount", "-t", "tmpfs", "none", "/mnt"], check=False, capture_output=True).returncode == 0:
            return command
    return None


def check_file_systems(run: Run):
    command = mounts()
    if not command:
        print("file systems are not tried: this user may not mount")
        return
    os.makedirs(run.path("store"), exist_ok=True)
    for where, fix in (run.path("store"), "--store"), (run.run_directory, "HOOK_RUN_DIR"):
        for options, named in ("nr_inodes=1", "No space left"), ("ro", "Read-only"):
            what = f"{where} {options}"
            done = start(run, what, f"mount -t tmpfs -o mode=700,{options} none {where} || exit", prefix=command)
            expect_untraced(run, what, done, [fix, named])


def test(run):
    check_limits(run)
    check_run_directory(run)
    check_file_systems(run)
    check_signal(run)


if __name__ == "__main__":
    main(test)
