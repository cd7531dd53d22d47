"""Runs modules of CPython's own tests in this process, and notes what became of each test.

    python_suite.py OUTPUT bare|traced MODULE...

OUTPUT gets {test: "passed" | "skipped" | "failed" | "error" | ...} as JSON. `traced` binds the agent that this process was started with
and traces Python functions meanwhile; PYTHONPATH leads to the package.
"""
import json
import sys
import unittest


class Noting(unittest.TextTestResult):
    """Remembers outcomes by the test's id."""

    def __init__(self, *arguments, **names):
        super().__init__(*arguments, **names)
        self.outcomes = {}

    def startTest(self, test):
        super().startTest(test)
        self.outcomes.setdefault(str(test), "passed")

    def addError(self, test, err):
        super().addError(test, err)
        self.outcomes[str(test)] = "error"

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.outcomes[str(test)] = "failed"

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.outcomes[str(test)] = "skipped"

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.outcomes[str(test)] = "failed as expected"

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.outcomes[str(test)] = "passed unexpectedly"

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.outcomes[str(test)] = "failed"


def main():
    output, mode, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    # The tests see the arguments and the main module of a usual run.
    sys.argv[1:] = []
    suite = unittest.defaultTestLoader.loadTestsFromNames([f"test.{name}" for name in names])
    if mode == "traced":
        from hooktrace import tracer
        from python_traced import bind
        import ctypes
        bind(ctypes.CDLL(None))
        tracer.start()
    result = unittest.TextTestRunner(stream=sys.stderr, resultclass=Noting).run(suite)
    if mode == "traced":
        assert tracer.is_on()
        tracer.stop()
    with open(output, "w", encoding="utf-8") as file:
        json.dump(result.outcomes, file, indent=1)


if __name__ == "__main__":
    main()
