#!/usr/bin/python3
"""Every kind of object and slot, as this machine's linkers make them for the other: checks of integration/test_objects.py."""
from emulated import integration_test, main


def test(run):
    checks = integration_test("objects")
    objects = checks.Objects(run)
    # Not check_reload: this emulator never maps a library where another was.
    for check in (checks.check_callers, checks.check_programs, checks.check_canonical, checks.check_scopes, checks.check_early,
                  checks.check_protection, checks.check_race, checks.check_tables):
        check(objects)


if __name__ == "__main__":
    main(test)
