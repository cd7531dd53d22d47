#!/usr/bin/python3
"""Every kind of object and slot, as this machine's linker makes them for the other: the checks are integration/test_objects.py."""
import importlib.util
import os

from emulated import main

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "integration", "test_objects.py")


def load():
    spec = importlib.util.spec_from_file_location("integration_objects", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test(run):
    checks = load()
    objects = checks.Objects(run)
    # Not check_reload: this emulator never maps a library where another was. Nor check_protection: no probe is built here.
    for check in (checks.check_callers, checks.check_programs, checks.check_canonical, checks.check_scopes, checks.check_early,
                  checks.check_race, checks.check_tables):
        check(objects)


if __name__ == "__main__":
    main(test)
