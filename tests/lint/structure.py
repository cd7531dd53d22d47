#!/usr/bin/env python3
"""The structure of the programs, computed from their includes.

It fails on a circle among files, on two folders that include each other, and on a folder with more than 30 .c and .h files.
x.c and x.h count as one file. It prints how many pairs of folders each program has.
"""
import collections
import os
import re
import sys

PROGRAMS = ("agent", "collector", "cli", "proto")
FILES_MAX = 30
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def module(path):
    """The file of a path without its suffix: x.c and x.h are one module."""
    return os.path.splitext(path)[0]


def read_tree(program):
    """path -> the names that it includes, of every C and assembler file of PROGRAM."""
    tree = {}
    for base, _, names in os.walk(program):
        for name in names:
            if name.endswith((".c", ".h", ".S")):
                path = os.path.join(base, name)
                with open(path, encoding="utf-8") as stream:
                    tree[path] = [m.group(1) for m in map(INCLUDE.match, stream) if m]
    return tree


def arrows(program, tree):
    """module -> modules of the same program that it includes."""
    result = collections.defaultdict(set)
    for path, names in tree.items():
        for name in names:
            for candidate in (name, f"{program}/{name}", os.path.join(os.path.dirname(path), name)):
                if candidate in tree:
                    if module(candidate) != module(path):
                        result[module(path)].add(module(candidate))
                    break
    return result


def circles(graph):
    """The strongly connected components of GRAPH with more than one member, each sorted (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for following in sorted(graph.get(node, ())):
            if following not in index:
                visit(following)
                low[node] = min(low[node], low[following])
            elif following in stack:
                low[node] = min(low[node], index[following])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def folder_arrows(graph):
    """folder -> other folders that its modules include."""
    result = collections.defaultdict(set)
    for source, targets in graph.items():
        for target in targets:
            if os.path.dirname(source) != os.path.dirname(target):
                result[os.path.dirname(source)].add(os.path.dirname(target))
    return result


def judge(program, tree):
    """Findings, as sentences, and the number of pairs of folders."""
    graph = arrows(program, tree)
    folders = folder_arrows(graph)
    findings = [f"files in a circle: {' '.join(circle)}" for circle in circles(graph)]
    findings += [f"folders in a circle: {' '.join(circle)}" for circle in circles(folders)]
    sizes = collections.Counter(os.path.dirname(path) for path in tree if path.endswith((".c", ".h")))
    findings += [f"{folder}: {size} .c and .h files (at most {FILES_MAX})"
                 for folder, size in sorted(sizes.items()) if size > FILES_MAX]
    return findings, sum(len(targets) for targets in folders.values())


def check_tree():
    bad = 0
    for program in PROGRAMS:
        tree = read_tree(program)
        findings, pairs = judge(program, tree)
        for finding in findings:
            print(f"{program}: {finding}")
        print(f"{program}: {len(tree)} files, {pairs} pairs of folders")
        bad += len(findings) + (not tree)
    return 1 if bad else 0


def selftest():
    good = {"p/a/x.c": ["p/a/x.h", "b/y.h"], "p/a/x.h": [], "p/b/y.h": []}
    cases = [
        (good, 0),
        ({**good, "p/b/y.h": ["p/a/x.h"]}, 2),
        ({**good, "p/b/z.c": ["p/a/x.h"]}, 1),
        ({f"p/a/{i}.c": [] for i in range(FILES_MAX + 1)}, 1),
    ]
    wrong = [tree for tree, count in cases if len(judge("p", tree)[0]) != count]
    for tree in wrong:
        print("judged wrongly:", tree, judge("p", tree))
    return 1 if wrong or judge("p", good)[1] != 1 else 0


if __name__ == "__main__":
    sys.exit(selftest() if sys.argv[1:] == ["--selftest"] else check_tree())
