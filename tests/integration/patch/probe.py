"""probe: runs a small program of this directory with or without the probe, and reads what the probe counted."""
import collections
import glob
import os
import subprocess
import sys
import tempfile

DIRECTORY, PROBE, EMULATOR = sys.argv[1], sys.argv[2], sys.argv[3:]
with open(PROBE, "rb") as probe_file:
    # There a function that is called and whose address is taken has a slot for each: the calls are seen whatever the other is.
    TWO_SLOTS = probe_file.read(20)[18] == 183  # aarch64


class Result:
    """Output of one run, and what the probes of its processes counted."""

    def __init__(self, output, texts):
        self.output = output
        self.calls = collections.Counter()
        self.rearmed = collections.Counter()
        self.providers = {}
        self.numbers = collections.Counter()
        for text in texts:
            for line in text.splitlines():
                words = line.split()
                if words[0] == "site":
                    key = words[1], os.path.basename(words[2])
                    self.calls[key] += int(words[4])
                    self.rearmed[key] += int(words[5])
                    self.providers[key] = os.path.basename(words[3])
                else:
                    self.numbers[words[0]] += int(words[1])

    def called(self, *key):
        return self.calls[key]


def run(program, *arguments, probe=True, hooks="*:target_*", preload="", **more):
    with tempfile.TemporaryDirectory() as scratch:
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("HOOK_", "LD_"))}
        environment.update(more)
        if preload:
            environment.update(LD_PRELOAD=preload)
        if probe:
            environment.update(LD_PRELOAD=PROBE + ":" + preload, PROBE_OUT=scratch + "/out", HOOK_HOOKS=hooks)
        # The loader's variables are the program's and not the emulator's.
        told = [word for name in list(environment) if EMULATOR and name.startswith("LD_")
                for word in ("-E", f"{name}={environment.pop(name)}")]
        done = subprocess.run([*EMULATOR, *told, os.path.join(DIRECTORY, program), *arguments, DIRECTORY], env=environment,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
        if done.returncode != 0 or done.stderr:
            raise AssertionError(f"{program} {arguments}: status {done.returncode}, {done.stderr}")
        texts = []
        for path in glob.glob(scratch + "/out.*"):
            with open(path, encoding="ascii") as file:
                texts.append(file.read())
        return Result(done.stdout, texts)


def same(*arguments, preload="", **more):
    """Runs with the probe, after checking that the output is that of a run without."""
    result = run(*arguments, preload=preload, **more)
    without = run(*arguments, probe=False, preload=preload).output
    if result.output != without:
        raise AssertionError(f"{arguments}: {result.output!r}, without the probe {without!r}")
    return result
