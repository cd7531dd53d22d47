#!/usr/bin/python3
"""The README has at most 700 words, the README names every page of deploy/docs, and what Markdown files and the manual name exists.

Links of every Markdown file resolve, with their anchors; paths between backquotes do in the README and the manual.
`--selftest` checks that each rule finds what breaks it.
"""
import glob
import os
import re
import sys

WORDS = 700
PAGES = "deploy/docs"
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PATH = re.compile(r"`((?:agent|cli|collector|deploy|proto|tests)/[\w./-]*)`")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
SKIPPED = ("build", ".git", "hook-")


def read(path):
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def anchors(path):
    """Of the headings, as GitHub makes them."""
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in HEADING.findall(FENCE.sub("", read(path)))}


def check_links(path, text):
    for target in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        place = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        if not os.path.exists(place):
            yield f"{path}: link to {target}: no such file"
        elif anchor and place.endswith(".md") and anchor not in anchors(place):
            yield f"{path}: link to {target}: no such heading"


def check_paths(path, text):
    for name in PATH.findall(FENCE.sub("", text)):
        if not os.path.exists(name):
            yield f"{path}: `{name}`: no such file"


def check_readme(text, pages):
    words = len(text.split())
    if words > WORDS:
        yield f"README.md: {words} words, at most {WORDS}: a page of {PAGES} has room"
    linked = set(LINK.findall(text))
    for page in pages:
        if page not in linked:
            yield f"README.md: no link to {page}"


def markdown():
    for directory, inside, files in os.walk("."):
        inside[:] = [name for name in inside if not name.startswith(SKIPPED)]
        yield from (os.path.relpath(os.path.join(directory, name)) for name in sorted(files) if name.endswith(".md"))


def find():
    pages = sorted(glob.glob(f"{PAGES}/[a-z]*.md"))
    yield from check_readme(read("README.md"), pages)
    for path in markdown():
        yield from check_links(path, read(path))
    for path in ("README.md", *pages):
        yield from check_paths(path, read(path))


def selftest():
    broken = (check_readme("word " * (WORDS + 1), []), check_readme("few words", ["deploy/docs/limits.md"]),
              check_links("README.md", "[x](deploy/docs/nothing.md)"), check_links("README.md", "[x](deploy/docs/limits.md#nothing)"),
              check_paths("README.md", "`collector/nothing.c`"))
    return [f"selftest: rule {i} finds nothing" for i, found in enumerate(broken) if len(list(found)) != 1]


def main():
    findings = selftest() if "--selftest" in sys.argv[1:] else list(find())
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
