"""callgrind: what a file of valgrind's callgrind says of calls and instructions, which depend on no machine's load."""
import re

NAME = re.compile(r"(c?)fn=\((\d+)\)(?: (.*))?")


def calls_and_costs(path):
    """{function: [calls of it, instructions in it and below]}"""
    names, sums, callee, calls = {}, {}, None, 0
    with open(path, encoding="utf-8", errors="replace") as stream:
        for line in stream:
            named = NAME.match(line)
            if named:
                called, number, name = named.groups()
                if name:
                    names[number] = name.strip()
                callee = number if called else callee
            elif line.startswith("calls="):
                calls = int(line[6:].split()[0])
            elif calls:
                entry = sums.setdefault(names[callee], [0, 0])
                entry[0] += calls
                entry[1] += int(line.split()[-1])
                calls = 0
    return sums
