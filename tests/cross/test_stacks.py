#!/usr/bin/python3
"""Arguments on the stack, as many as the language allows, from any place of any stack: the check of integration/test_stacks.py."""
from emulated import integration_test, main

if __name__ == "__main__":
    main(integration_test("stacks").test)
