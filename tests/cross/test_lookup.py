#!/usr/bin/python3
"""Functions looked up by name, whose callers the loader and the agent tell by a return address: integration/test_lookup.py."""
from emulated import integration_test, main


if __name__ == "__main__":
    main(integration_test("lookup").test)
