#!/usr/bin/env python3
"""Words that never help a reader, in comments, documents, help and errors; and banners that wrap.

Checked: comments of every language, docstrings, Markdown, and the texts of the programs: strings that contain a blank. Not
checked: identifiers, code in Markdown, and strings of tests.
"""
import io
import os
import re
import subprocess
import sys
import tokenize

# Files that quote the words.
QUOTING = ("tests/lint/english.py",)
PROGRAMS = ("agent/", "cli/", "collector/", "proto/")
WORDS = re.compile(
    r"\b(whoever|nobody('s)?|anew|likewise|to be had|none (is|are)|whose it is|(is|are) told|for so long|as of old|goes on)\b"
    r"|(?:^|[.;:] )who(?!\w)(?![^.;:]*\?)|\b(to|of|by|for|from|than) who\b",
    re.IGNORECASE)
C_LIKE = (".c", ".h", ".S", ".cc", ".js", ".css", ".proto")
HASH_LIKE = (".sh", ".cmake", ".txt", ".hooks", ".map", ".yml", ".yaml", ".ini", ".service", ".in")
C_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def plain(comment):
    """A comment's text on one line, without its marks."""
    text = re.sub(r"^/\*+|\*/$|^//+", "", comment)
    return " ".join(re.sub(r"^\s*\*", "", line).strip() for line in text.split("\n")).strip()


def c_texts(source, strings):
    """Pairs of line number and text: comments, and strings that contain a blank if STRINGS. A wrapped banner gives None."""
    for match in C_TOKEN.finditer(source):
        token = match.group(0)
        line = source.count("\n", 0, match.start()) + 1
        if token.startswith("/* ---") and "\n" in token:
            yield line, None
        elif token.startswith(("/*", "//")):
            yield line, plain(token)
        elif strings and token[0] == '"' and " " in token:
            yield line, token[1:-1]


def python_texts(source):
    """Comments, those of consecutive lines joined, and docstrings."""
    fresh, last, start, words = True, -1, 0, []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if token.start[0] != last + 1 and words:
                yield start, " ".join(words)
                words = []
            start = start if words else token.start[0]
            words.append(token.string.lstrip("#! "))
            last = token.start[0]
        elif token.type == tokenize.STRING and fresh:
            yield token.start[0], " ".join(token.string.split()).strip('"')
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            fresh = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
    if words:
        yield start, " ".join(words)


def hash_texts(source):
    """Blocks of lines that begin with a hash."""
    start, words = 0, []
    for number, line in enumerate(source.split("\n") + [""], 1):
        found = re.match(r"\s*#+ (.*)", line)
        if found:
            start = start if words else number
            words.append(found.group(1))
        elif words:
            yield start, " ".join(words)
            words = []


def markdown_texts(source):
    """Lines outside blocks of code, without what stands in backticks."""
    code = False
    for number, line in enumerate(source.split("\n"), 1):
        if line.lstrip().startswith("```"):
            code = not code
        elif not code and not line.startswith("    "):
            yield number, re.sub(r"`[^`]*`", "`", line)


def texts(path, source):
    """What people read of the file at PATH, as pairs of line number and text."""
    if path.endswith(".py"):
        return python_texts(source)
    if path.endswith(".md"):
        return markdown_texts(source)
    if path.endswith(C_LIKE):
        return c_texts(source, path.startswith(PROGRAMS))
    if path.endswith(HASH_LIKE):
        return hash_texts(source)
    return ()


def findings(path, source):
    """Pairs of line number and reason."""
    found = []
    for line, text in texts(path, source):
        if text is None:
            found.append((line, "a banner of dashes wraps: shorten it"))
        else:
            found += [(line, f"'{match.group(0).strip('.;: ')}' in: {text[:100]}") for match in WORDS.finditer(text)]
    return found


def check_tree():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True).stdout
    bad = seen = 0
    for path in sorted(set(listed.split("\n"))):
        if not os.path.isfile(path) or path in QUOTING or not path.endswith((".py", ".md") + C_LIKE + HASH_LIKE):
            continue
        with open(path, encoding="utf-8") as stream:
            found = findings(path, stream.read())
        seen += 1
        bad += len(found)
        for line, reason in found:
            print(f"{path}:{line}: {reason}")
    if seen == 0:
        print("no files found: wrong directory?")
    return 1 if bad or seen == 0 else 0


def selftest():
    bad = [
        ("cli/a.c", "/* For whoever\n * asks. */\n"), ("cli/a.c", "/* Once more,\n * and goes\n * on. */\n"),
        ("cli/a.c", "/* ---- a long banner\n * ---- */\n"), ("cli/a.c", 'puts("nobody is there");\n'),
        ("cli/a.c", "/* Who asks waits. */\n"), ("tests/a.py", 'def f():\n    """Begins anew."""\n'),
        ("tests/a.py", "x = 1  # likewise\n"), ("a.md", "It is to be had there.\n"), ("a.sh", "# none are\n"),
        ("cli/a.js", "// is told\n"), ("a.md", "This belongs to who asks.\n"),
    ]
    good = [
        ("cli/a.c", "int nobody;\n"), ("cli/a.c", 'getpwnam("nobody");\n'), ("tests/a.c", 'puts("nobody is there");\n'),
        ("tests/a.py", 'print("nobody is there")\n'), ("a.md", "```\nnobody\n```\nThe user `nobody`.\n"), ("a.sh", "nobody=1\n"),
        ("cli/a.c", "/* ---- short ---- */\n"), ("cli/a.c", "/* People who read it. */\n"), ("cli/a.c", "/* Who calls malloc? */\n"),
    ]
    wrong = [case for case in bad if not findings(*case)] + [case for case in good if findings(*case)]
    for case in wrong:
        print("judged wrongly:", case)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(selftest() if "--selftest" in sys.argv else check_tree())
