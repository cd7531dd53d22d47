#!/usr/bin/python3
"""Programs with rights that their caller lacks: the agent stays off, even if the loader brings it in, and doctor names them."""
import json
import os
import shutil
import struct
import subprocess
import sys

from harness import TIMEOUT, expect, expect_true, main

SKIPPED = 77
NOBODY = 65534
EXIT = 4
# Everything that makes an agent write or print.
TOLD = {"HOOK_HOOKS": "libc.so*:malloc", "HOOK_LEVEL": "record", "HOOK_LOG": "1", "HOOK_COMPAT": "1", "LOG_LEVEL": "PROFILE=INFO"}
NET_RAW = 1 << 13


def capabilities(path):
    """One capability, permitted and effective, in the kernel's format of version 2."""
    os.setxattr(path, "security.capability", struct.pack("<5I", 0x02000001, NET_RAW, 0, 0, 0))


def call(run, *command, user=0, env=()):
    """Runs a program as another user, who has no other group."""
    done = subprocess.run(command, user=user, group=user, extra_groups=[], env=run.environment(**dict(env)), cwd="/",
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    return done.returncode, done.stdout, done.stderr


def traced(run, path, preload, user, effective):
    """What the program does with the agent in reach, and the files that the agent made; its run directory may be used."""
    directory = f"{path}-run"
    os.mkdir(directory, 0o700)
    os.chown(directory, effective, effective)
    env = {**TOLD, "HOOK_RUN_DIR": directory, **({"LD_PRELOAD": run.agent()} if preload else {})}
    return call(run, path, user=user, env=env), os.listdir(directory)


class Case:
    """A copy of a program: its caller, the user it runs as, and the source of its rights."""

    def __init__(self, name, user=0, effective=0, owner=0, mode=0o755, raise_rights=None):
        self.name, self.user, self.effective, self.owner, self.mode, self.raise_rights = name, user, effective, owner, mode, raise_rights

    def copy(self, run, program):
        path = run.path(f"{self.name}-{program}")
        shutil.copy(os.path.join(run.build, "tests", "integration", "life", program), path)
        os.chown(path, 0, self.owner)
        os.chmod(path, self.mode)
        if self.raise_rights:
            self.raise_rights(path)
        return path

    def check(self, run, program, preload):
        path = self.copy(run, program)
        secure = self.name != "plain"
        alone = call(run, path, user=self.user)
        expect(f"{self.name}: exit status alone", alone[0], EXIT)
        expect_true(f"{self.name}: AT_SECURE: {alone[1]}", alone[1].startswith(f"secure {int(secure)}, user {self.effective} for {self.user},"))
        done, files = traced(run, path, preload, self.user, self.effective)
        if secure:
            expect(f"{self.name}, {program}: exit status and output", done, alone)
            expect(f"{self.name}, {program}: files of the agent", files, [])
        else:
            expect(f"{self.name}, {program}: exit status", done[0], EXIT)
            expect(f"{self.name}, {program}: files of the agent", [name[-4:] for name in files], [".seg"])


# As the first: the agent is there, and nothing but these rights keeps it off.
CASES = [
    Case("plain"),
    Case("setuid", user=NOBODY, mode=0o4755),
    Case("setgid", owner=NOBODY, mode=0o2755),
]
CAPABLE = [
    Case("plain", user=NOBODY, effective=NOBODY),
    Case("capable", user=NOBODY, effective=NOBODY, raise_rights=capabilities),
]


def reachable(path):
    """By users who own nothing."""
    while os.stat(path).st_mode & 1 and path != "/":
        path = os.path.dirname(path)
    return path == "/"


def check_doctor(run):
    """Without rights to give, one line says so."""
    home = run.path("home")
    os.mkdir(home, 0o700)
    os.chown(home, NOBODY, NOBODY)
    env = {"HOME": home, "XDG_STATE_HOME": home, "HOOK_RUN_DIR": home}
    for case in CASES[1], CAPABLE[1]:
        path = run.path(f"{case.name}-rights")
        status, out, error = call(run, run.binary("hookcli"), "doctor", "--json", "--", path, user=NOBODY, env=env)
        expect_true(f"{case.name}: doctor: {status} {error}", status == 1 and "{" in out)
        check = next(check for check in json.loads(out[out.index("{"):])["checks"] if check["name"] == "program")
        expect(f"{case.name}: doctor", (check["state"], check["detail"], "\n" in check["fix"]),
               ("failed", f"{path} is setuid, setgid or has capabilities: the loader preloads nothing", False))


def test(run):
    if os.geteuid() != 0 or os.statvfs(run.directory).f_flag & os.ST_NOSUID:
        print("needs root, and a file system that knows setuid")
        sys.exit(SKIPPED)
    os.chmod(run.directory, 0o755)
    for case in CASES:
        case.check(run, "rights", preload=True)
        case.check(run, "rights_linked", preload=False)
    if not reachable(run.agent()):
        print("other users cannot read the build: capabilities and doctor are not tried")
        return
    shutil.rmtree(run.path("plain-rights-run"))
    shutil.rmtree(run.path("plain-rights_linked-run"))
    for case in CAPABLE:
        case.check(run, "rights", preload=True)
        case.check(run, "rights_linked", preload=False)
    check_doctor(run)


if __name__ == "__main__":
    main(test)
