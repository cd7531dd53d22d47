#!/usr/bin/python3
"""Calls watched by pattern and caller, replaced, skipped and answered: the checks of integration/test_changes.py."""
from emulated import integration_test, main

if __name__ == "__main__":
    main(integration_test("changes").test)
