"""emulated: the harness for programs of another machine: an emulator runs them, this machine's programs read what they wrote."""
import importlib.util
import os
import signal
import sys

INTEGRATION = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "integration")
sys.path.insert(0, INTEGRATION)
from harness import Run, Failure, end_process, wait_for  # noqa: E402


class Emulated(Run):
    """A Run whose build tree is the other machine's, but for hookcli and hookcollector."""

    def __init__(self, host, cross, agent, emulator):
        super().__init__(host)
        self.library = agent
        self.host = self.build
        self.build = os.path.abspath(cross)
        self.emulator = list(emulator)
        self.jobs = 0

    def binary(self, name):
        return os.path.join(self.host, {"hookcli": "cli", "hookcollector": "collector"}[name], name)

    def agent(self):
        return self.library

    def command(self, *arguments, env=None, emulator=None, **more):
        """Like Run.command; what lies in the other machine's tree is run by the emulator, which is no place for LD_PRELOAD."""
        if not str(arguments[0]).startswith(self.build + os.sep):
            return super().command(*arguments, env=env, **more)
        env = dict(env or {})
        preload = [word for name in ("LD_PRELOAD", "LD_LIBRARY_PATH") if name in env for word in ("-E", f"{name}={env.pop(name)}")]
        return super().command(*(emulator or self.emulator), *preload, *arguments, env=env, **more)

    def trace(self, *command, hooks=(), level=None, options=(), env=None, **more):
        """Runs COMMAND to its end and then has a collector take in what lies there: the emulator tells its own story of /proc,
        so that a collector outside cannot identify processes while they live."""
        self.jobs += 1
        job = options[options.index("--job") + 1] if "--job" in options else f"job{self.jobs}"
        env = dict(env or {})
        env |= {"HOOK_JOB": job, "HOOK_HOOKS": ",".join(hooks), "HOOK_KEEP_SEGMENT": "1",
                "LD_PRELOAD": ":".join([self.agent(), *filter(None, [env.get("LD_PRELOAD")])])}
        if level:
            env["HOOK_LEVEL"] = level if isinstance(level, str) else ",".join(level)
        done = self.command(*command, env=env, **more)
        collector = self.start_collector()
        try:
            wait_for(f"the end of {job}", lambda: os.path.exists(self.path("store", job, "report.json")))
        finally:
            end_process(collector, signal.SIGTERM)
        # What a tick is worth to this machine's collector is nothing to a counter of the other.
        os.unlink(os.path.join(self.run_directory, "clock"))
        return done


def integration_test(name):
    """The module integration/test_NAME.py, whose checks take a Run."""
    spec = importlib.util.spec_from_file_location("integration_" + name, os.path.join(INTEGRATION, f"test_{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(test):
    """TEST(run) by the arguments HOST_TREE CROSS_TREE AGENT EMULATOR...; a Failure becomes one line and exit status 1."""
    try:
        with Emulated(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]) as run:
            test(run)
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
