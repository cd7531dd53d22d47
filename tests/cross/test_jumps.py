#!/usr/bin/python3
"""Calls, and the tracer itself, left by siglongjmp from a timer's handler: the check of integration/test_jumps.py."""
from emulated import integration_test, main

if __name__ == "__main__":
    main(integration_test("jumps").test)
