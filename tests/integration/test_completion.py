#!/usr/bin/python3
"""What bash and zsh offer for a line of hookcli: commands, options, values of options, jobs, programs and files; and nothing that a name
holds is run."""
import os
import pty
import re
import select
import subprocess

from harness import TIMEOUT, WAIT, Failure, expect, expect_true, main

COMMANDS = re.compile(r"^  (\w+) +\w", re.MULTILINE)
# As bash calls it: the words before the one to complete, which is the last.
SCRIPT = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _hookcli; printf "%s\\0" "${COMPREPLY[@]}"'
# Control-X shows what the line has become.
ZSH = r'''PS1=; unsetopt zle_bracketed_paste; setopt no_beep; autoload -U compinit bashcompinit; compinit -u -D; bashcompinit; source ./completion
show() { print -r -- "<$BUFFER>"; BUFFER=; }; zle -N show; bindkey "^X" show; print "ready"$((1))
'''


def completes(run, *words, programs=None):
    """What is offered for the last of WORDS, --option=value being three of them; PROGRAMS: where hookcli lies."""
    path = (programs or os.path.dirname(run.binary("hookcli"))) + ":" + os.environ["PATH"]
    done = subprocess.run(["bash", "-c", SCRIPT, "bash", run.path("completion"), "hookcli", *words], env=run.environment(PATH=path),
                          cwd=run.directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT, check=True)
    expect(f"{words}: stderr", done.stderr, "")
    return {word for word in done.stdout.split("\0") if word}


def check_words(run):
    expect("commands", completes(run, "re"), {"report"})
    expect("all commands", completes(run, ""), set(COMMANDS.findall(run.cli("--help").stdout)) | {"--help", "--version"})
    expect("options", completes(run, "report", "--fo"), {"--format="})
    expect_true("options that all have", "--collector=" in completes(run, "diff", "--"))
    expect("actions", completes(run, "ctl", "o"), {"off", "on"})
    expect("launchers", completes(run, "env", "s"), {"srun"})
    expect_true("shipped hooks", completes(run, "hooks", "") >= {"mpi", "libc", "cuda", "nccl", "blas", "deny"})


def check_values(run):
    """They are those that the commands take: each is tried."""
    for words, wanted in ((("report", "--format"), {"summary", "text", "json", "csv", "html", "folded"}),
                          (("report", "--by"), {"function", "process", "rank", "library", "host", "thread", "symbol", "memory", "stack", "stream", "kernel",
                                               "wait", "step", "delay", "path"}),
                          (("why", "--fail-on"), {"low", "medium", "high"}),
                          (("export", "--format"), {"perfetto", "chrome", "kineto", "csv", "folded", "pprof", "sqlite"}),
                          (("export", "--weight"), {"time", "calls"}), (("export", "--split"), {"rank", "thread"}),
                          (("diff", "--format"), {"text", "json", "html"}),
                          (("top", "--view"), {"functions", "ranks", "libraries", "memory", "open", "nodes", "processes"}),
                          (("run", "--level"), {"off", "count", "sample", "time", "record", "record+args", "record+stack"}),
                          (("run", "--on-full"), {"drop", "wait:"}), (("run", "--budget"), {"off"}), (("run", "--keep"), {"all"}),
                          (("report", "--collector"), set()), (("export", "--ranks"), set())):
        expect(f"values of {words}", completes(run, *words, ""), wanted)
        expect(f"values of {words} behind =", completes(run, *words, "="), wanted)
        for word in wanted:
            expect_true(f"{word} of {words}", word in completes(run, *words, "=", word[:2]))
    titles = completes(run, "top", "--sort", "=", "")
    expect_true(f"columns: {titles}", titles >= {"BUSY%", "CALLS/s", "p99", "RSS PEAK", "CALLING LIBRARY", "NODE"})
    expect("columns that begin so", completes(run, "top", "--sort", "RSS"), {"RSS PEAK"})
    expect_true("hooks", completes(run, "run", "--hooks", "=", "") >= {"auto", "mpi", "libc"})
    expect("what may not be hooked", completes(run, "run", "--hooks", "den"), set())
    for form in completes(run, "report", "--format", ""):
        run.cli("report", run.path("store", "here-now"), "--format", form)
    for by in completes(run, "report", "--by", ""):
        run.cli("report", run.path("store", "here-now"), "--by", by)
    for view in completes(run, "top", "--view", ""):
        run.cli("top", run.path("store", "here-now"), "--once", "--view", view)
    views = completes(run, "top", "--view", "")
    for title in titles:
        expect_true(f"sort by {title}", any(run.cli("top", run.path("store", "here-now"), "--once", "--view", view, "--sort", title, check=False)
                                            .returncode == 0 for view in views))


def check_files(run):
    for name in ("our-file-of-mine", "our-file of *", "our-file$(touch ran)"):
        with open(run.path(name), "w", encoding="utf-8"):
            pass
    files = {"our-file-of-mine", "our-file of *", "our-file$(touch ran)"}
    for words in (("run",), ("report", "-o"), ("report", "--output", "="), ("run", "--hooks"), ("hooks",), ("run", "--store", "=")):
        expect(f"files of {words}", completes(run, *words, "our-f"), files)
    expect("no files", completes(run, "report", "--format", "our-f"), set())
    expect_true("programs", "true" in completes(run, "run", "tru"))
    expect("ls takes nothing", completes(run, "ls", ""), set())


def check_jobs(run):
    os.symlink(run.path("store", "here-now"), run.path("hook-true-here-now"))
    expect("ids", run.cli("ls", "--ids").stdout, "here-now\n")
    for words in (("report",), ("diff", "a"), ("rm",), ("ctl", "--job"), ("ctl", "-j"), ("ctl", "--job", "=")):
        expect(f"jobs of {words}", completes(run, *words, "here"), {"here-now"})
    # Whatever ids other people give.
    names = ["job-$(touch ran)", "job-`touch ran`", "job-a b", "job-*", "job-';touch ran;'", 'job-"', "job-\\"]
    os.mkdir(run.path("programs"))
    with open(run.path("programs", "hookcli"), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\ncat \"$HOME/names\"\n")
    os.chmod(run.path("programs", "hookcli"), 0o755)
    with open(run.path("names"), "w", encoding="utf-8") as file:
        file.write("\n".join(names) + "\n")
    expect("ids as they are", completes(run, "report", "job", programs=run.path("programs")), set(names))
    expect_true("nothing was run", not os.path.exists(run.path("ran")))


class Zsh:
    """A shell on a terminal of its own: its completion needs an editor of lines."""

    def __init__(self, run):
        self.said = b""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(run.directory)
            os.execvpe("zsh", ["zsh", "-f", "-i"], run.environment(TERM="dumb", PATH=os.path.dirname(run.binary("hookcli")) + ":" + os.environ["PATH"]))
        self.type(ZSH)
        self.read(b"ready1")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.terminal)  # which hangs up
        os.waitpid(self.pid, 0)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def read(self, mark):
        """What it says until MARK."""
        while mark not in self.said:
            if not select.select([self.terminal], [], [], WAIT)[0]:
                raise Failure(f"zsh does not say {mark!r}: {self.said!r}")
            self.said += os.read(self.terminal, 1 << 16)
        got, self.said = self.said.split(mark, 1)
        return got.decode()

    def completed(self, line):
        self.type(line + "\t\x18")
        return self.read(b">").rsplit("<", 1)[1].rstrip()


def check_zsh(run):
    with Zsh(run) as zsh:
        for line, wanted in (("hookcli rep", "hookcli report"), ("hookcli report --fo", "hookcli report --format="),
                             ("hookcli report --format ht", "hookcli report --format html"),
                             ("hookcli report --format=ht", "hookcli report --format=html"), ("hookcli rm here", "hookcli rm here-now"),
                             ("hookcli report -o our-file-", "hookcli report -o our-file-of-mine"),
                             ("hookcli top --sort RSS", r"hookcli top --sort RSS\ PEAK")):
            expect(f"zsh: {line}", zsh.completed(line), wanted)


def test(run):
    with open(run.path("completion"), "w", encoding="utf-8") as file:
        file.write(run.cli("--completion").stdout)
    run.trace("/bin/true", options=("--job", "here-now"))
    check_words(run)
    check_values(run)
    check_files(run)
    check_jobs(run)
    check_zsh(run)


if __name__ == "__main__":
    main(test)
