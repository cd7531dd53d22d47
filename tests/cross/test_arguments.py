#!/usr/bin/python3
"""Arguments and results from the other machine's registers, vector registers and stack: the check of integration/test_arguments.py."""
from emulated import integration_test, main


def test(run):
    integration_test("arguments").test(run)


if __name__ == "__main__":
    main(test)
