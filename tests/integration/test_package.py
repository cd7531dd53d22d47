#!/usr/bin/python3
"""The Debian package: made, installed into a root of its own, used from there, and removed without a trace; its manual and completion."""
import glob
import gzip
import os
import re
import subprocess

from harness import TIMEOUT, Run, expect, expect_true, main

COMMANDS = re.compile(r"^  ([a-z]+) ", re.MULTILINE)
LINK = re.compile(r"\]\(([^):#]+)(?:#[^)]*)?\)")
LIBRARY = "usr/lib/hooktrace/libhookagent.so"


def make(run):
    run.command("cpack", "-G", "DEB", "-B", run.path("made"), cwd=run.build)
    packages = glob.glob(run.path("made", "*.deb"))
    expect("packages", len(packages), 1)
    return packages[0]


def dpkg(run, root, *arguments):
    """dpkg with a data base of its own: what the package depends on is on the machine, not in there."""
    return run.command("dpkg", f"--root={root}", f"--log={run.path('dpkg.log')}", "--force-depends", "--force-script-chrootless",
                       "--force-not-root", "--force-bad-path", *arguments)


def new_root(run):
    root = run.path("root")
    for directory in ("info", "updates", "triggers"):
        os.makedirs(os.path.join(root, "var/lib/dpkg", directory))
    with open(os.path.join(root, "var/lib/dpkg/status"), "w", encoding="utf-8"):
        pass
    return root


def installed(root):
    """Files and directories that are not dpkg's own."""
    found = set()
    for directory, _, files in os.walk(root):
        inside = os.path.relpath(directory, root)
        if inside.split(os.sep)[0] != "var":
            found.update(os.path.join(inside, name) for name in files)
            found.add(inside)
    return found - {"."}


def check_use(run, root):
    cli = os.path.join(root, "usr/bin/hookcli")
    done = run.command(cli, "run", "--store", run.path("store"), "--job", "packaged", "--hooks", "*:getppid", "--",
                       "/usr/bin/python3", "-c", "import os; [os.getppid() for _ in range(77)]")
    expect_true(f"the summary: {done.stderr!r}", "getppid" in done.stderr)
    report = run.report(run.path("store", "packaged"))
    expect("calls", [row["calls"] for row in report["calls"] if row["function"] == "getppid"], [77])


def check_pages(run, root):
    """A page for every command that there is, without a complaint of man's, and with every option that --help knows."""
    commands = COMMANDS.findall(run.cli("--help").stdout)
    names = {"hookcli", "hookcollector", *(f"hookcli-{command}" for command in commands)}
    pages = {os.path.basename(path)[:-len(".1.gz")]: path for path in glob.glob(os.path.join(root, "usr/share/man/man1/*.1.gz"))}
    expect("manual pages", set(pages), names)
    for name, path in pages.items():
        with gzip.open(path, "rt", encoding="utf-8") as page:
            text = page.read().replace("\\-", "-")
        words = name.split("-", 1)
        program = run.cli if words[0] == "hookcli" else lambda *a: run.command(run.binary("hookcollector"), *a)
        shown = program(*words[1:], "--help").stdout
        options = set(re.findall(r"^ {2,6}(?:-\w, )?(?: {4})?(--[a-z-]+)", shown, re.MULTILINE)) - {"--help", "--usage", "--version"}
        expect(f"{name}: options without a word in the manual", {option for option in options if option not in text}, set())
        examples = text.split(".SH EXAMPLES\n", 1)[1].split(".SH ", 1)[0]
        expect_true(f"{name}: examples {examples!r}", examples.count(name.replace("-", " ", 1) if len(words) > 1 else name) >= 2)
        if len(words) > 1:
            expect_true(f"{name}: options of {shown!r}", options)


def check_manual(root):
    """The README and the pages of deploy/docs, with everything that they link to."""
    base = os.path.join(root, "usr/share/doc/hooktrace")
    pages = [os.path.join(base, "README.md"), *glob.glob(os.path.join(base, "deploy/docs/*.md"))]
    expect_true(f"pages: {pages}", len(pages) > 10)
    for page in pages:
        with open(page, encoding="utf-8") as stream:
            links = LINK.findall(stream.read())
        missing = [link for link in links if not os.path.exists(os.path.join(os.path.dirname(page), link))]
        expect(f"{page}: links to what is not installed", missing, [])


def completes(run, root, line):
    """What bash offers at the end of LINE."""
    script = ('. "$1"; COMP_WORDS=($2); [ "${2% }" = "$2" ] || COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); '
              'compopt() { :; }; _hookcli; printf "%s\\n" "${COMPREPLY[@]}"')
    path = os.path.join(root, "usr/share/bash-completion/completions/hookcli")
    environment = run.environment(PATH=os.path.join(root, "usr/bin") + ":" + os.environ["PATH"])
    done = subprocess.run(["bash", "-c", script, "bash", path, line], env=environment, cwd=run.directory, stdout=subprocess.PIPE, text=True,
                          timeout=TIMEOUT, check=True)
    return set(done.stdout.split())


def check_completion(run, root):
    """It is there, and of the program that was installed; test_completion tries all of it."""
    expect("commands", completes(run, root, "hookcli re"), {"report"})
    run.trace("/bin/true", store="elsewhere", options=("--job", "here-now"))
    os.symlink(run.path("elsewhere", "here-now"), run.path("hook-true-here-now"))
    expect("jobs", completes(run, root, "hookcli report here"), {"here-now"})


def test(run: Run):
    package, root = make(run), new_root(run)
    dpkg(run, root, "--install", package)
    files = installed(root)
    expect_true(f"the agent in {sorted(files)}", LIBRARY in files)
    check_use(run, root)
    check_pages(run, root)
    check_manual(root)
    check_completion(run, root)
    dpkg(run, root, "--remove", "hooktrace")
    dpkg(run, root, "--purge", "hooktrace")
    expect("what stays", installed(root), set())


if __name__ == "__main__":
    main(test)
