#!/usr/bin/env python3
"""Writes a hooks file from an overlay and the headers that it names: generate.py [--check] [-I DIR]... OVERLAY...

An overlay is a hooks file whose lines need no signatures. README.md beside this file describes it. --check compares with the
files there are, writes nothing, and says what differs. Returns 3 if the headers are missing, or are of another version.
"""
import argparse
import difflib
import fnmatch
import hashlib
import os
import re
import sys

from headers import Header

ARGS = 20  # described arguments of one function: HK_HOOK_ARGS
HIDDEN = 8
WIDTH = 128
DIRECTIVES = ("domain", "default", "library", "runtime", "types", "fortran", "deny")


class Missing(Exception):
    """The headers are not here, or are others than the committed file was made from."""


class Overlay:
    def __init__(self, path, includes):
        self.path = path
        self.options, self.headers, self.types, self.arrays, self.handles_only = [], [], {}, [], False
        self.functions, self.streams, self.short, self.version = r"\w+", [], None, None
        self.skipped, self.digest = [], None
        self.options += [f"-I{directory}" for directory in includes]
        with open(path, encoding="utf-8") as stream:
            self.lines = re.sub(r"\\\n\s*", "", stream.read()).split("\n")
        self.lines = [line for line in self.lines if not self._setting(line)]

    def _setting(self, line):
        """Takes a line that says how headers are read. Returns whether it was one."""
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        if word == "%header":
            self.headers += rest.split()
        elif word == "%define":
            self.options += [f"-D{name}" for name in rest.split()]
        elif word == "%include":
            self.options += [f"-I{directory}" for directory in rest.split()]
        elif word == "%type":
            written, _, hooks_word = rest.rpartition(" ")
            self.types[written.strip()] = hooks_word
        elif word == "%arrays":
            self.arrays += rest.split()
        elif word == "%handles":
            self.handles_only = True
        elif word == "%functions":
            self.functions = rest
        elif word == "%streams":
            self.streams += rest.split(",")
        elif word == "%short":
            self.short = re.compile(rest)
        elif word == "%version":
            self.version = rest.split()
        elif word == "%digest":
            self.digest = rest.split()
        elif word == "%not":
            self.skipped += rest.split()
        else:
            return False
        return True


class Writer:
    def __init__(self, overlay, header):
        self.overlay, self.header = overlay, header
        self.functions = {name: function for name, function in header.functions.items()
                          if not any(fnmatch.fnmatchcase(name, glob) for glob in overlay.skipped)}
        self.also = {}
        for ending in ("_ptsz", "_ptds", "_spt"):
            for name in [name for name in self.functions if name.endswith(ending)]:
                base = self.functions.get(name[:-len(ending)])
                if base and base.shape() == self.functions[name].shape():
                    self.also[base.name] = ending
                    del self.functions[name]
        self.left = dict(self.functions)
        self.named = {re.split(r"[ /]", line, maxsplit=1)[0] for line in overlay.lines}
        self.out = []

    def stream_of(self, parameters):
        for parameter in parameters:
            if " ".join(parameter.written.replace("const", "").split()) in self.overlay.streams:
                return parameter.name
        return None

    def attributes(self, function, parameters, given, named):
        """The attributes of a line: those GIVEN, and those that follow from types and, unless the overlay has it NAMED, its name."""
        words = [given] if given else []
        stream = self.stream_of(parameters)
        if stream and "stream=" not in given:
            words.append(f"stream={stream}")
        if function.name in self.also and "also=" not in given:
            words.append(f"also={self.also[function.name]}")
        if not self.header.is_status(function) and "error=" not in given:
            words.append("error=never")
        if self.overlay.short and not given and not named and self.overlay.short.search(function.name):
            words.append("short auto=time")
        return words

    @staticmethod
    def described(function, count):
        """The parameters that a line names, and the number of the hidden ones behind them; None: the line cannot name any."""
        parameters = function.parameters[:count] if count is not None else list(function.parameters)
        words, hidden = 0, 0
        for i, parameter in enumerate(parameters):
            words += parameter.words if parameter.word else ARGS + 1
            if words > ARGS:
                hidden = len(parameters) - i
                tail = parameters[i:]
                plain = all(p.word and not p.floating and p.words == 1 and not p.word.startswith("struct") for p in tail)
                if hidden > HIDDEN or not plain:
                    return None, 0
                parameters = parameters[:i]
                break
        return parameters, hidden

    def put(self, function, given, count=None, named=False):
        self.left.pop(function.name, None)
        parameters, hidden = self.described(function, count)
        if parameters is None or function.result_word is None or function.result_word.startswith("struct"):
            levels = [word for word in given.split() if word.startswith(("level=", "auto="))]
            names = dict.fromkeys((function.name, function.name + self.also.get(function.name, "")))
            self.out += [" ".join([f"*:{name}", *levels]) for name in names]
            return
        words = self.attributes(function, parameters, given, named)
        if hidden:
            words.append(f"hidden={hidden}")
        result = function.result_word if function.result_word != "dim3" else "ulong"
        self.put_line(f"{result} {function.name}({', '.join(map(str, parameters))})", " ".join(words))

    def put_line(self, signature, attributes):
        if not attributes:
            self.out.append(signature)
        elif len(signature) + 2 + len(attributes) <= WIDTH:
            self.out.append(f"{signature}  {attributes}")
        else:
            self.out += [f"{signature} \\", f"        {attributes}"]

    def row(self, line):
        """`NAME ATTRIBUTES`, `NAME/COUNT ATTRIBUTES` or `GLOB ATTRIBUTES`."""
        target, _, attributes = line.partition(" ")
        name, _, count = target.partition("/")
        attributes = " ".join(attributes.split())
        if not re.search(r"[*?\[]", name):
            if name not in self.left:
                raise SystemExit(f"{self.overlay.path}: {name} is not in the headers, or is named twice")
            self.put(self.left[name], attributes, int(count) if count else None, named=True)
            return
        used = set(re.findall(r"[=*(,]([A-Za-z_]\w*)(?!\w|\()", attributes)) - {"result", "current"}
        plain = [word.split("=", 1) for word in attributes.split() if "=" in word]
        fixed = {value for key, value in plain if key in ("kind", "auto", "level", "error", "sync", "pending")}
        matched = [function for function in self.left.values() if fnmatch.fnmatchcase(function.name, name) and
                   used - fixed <= {parameter.name for parameter in self.described(function, None)[0] or []}]
        if not matched:
            raise SystemExit(f"{self.overlay.path}: no function is left for {name}")
        for function in matched:
            self.put(function, attributes)

    def rest(self, pattern):
        wanted = re.compile(pattern or ".*")
        for function in [self.left[name] for name in self.left if wanted.match(name) and name not in self.named]:
            self.put(function, "")

    def write(self):
        for line in self.overlay.lines:
            word = line.split(" ", 1)[0]
            if word == "%rest":
                self.rest(line[5:].strip())
            elif not line or line[0] == "#" or word in DIRECTIVES or ":" in word:
                self.out.append(line)
            elif re.match(r"\w+ \*?\w+\(", line):  # a line that is whole already
                signature, _, attributes = re.match(r"(.*?\))(\s+)?(.*)", line).groups() if ")  " not in line else (
                    line[:line.index(")  ") + 1], None, line[line.index(")  ") + 1:])
                self.left.pop(re.match(r"\w+ (\w+)\(", line).group(1), None)
                self.put_line(signature, " ".join(attributes.split()))
            else:
                self.row(line)
        if self.left:
            raise SystemExit(f"{self.overlay.path}: neither named nor left to %rest: {' '.join(self.left)}")
        return "\n".join(self.out).rstrip("\n") + "\n"


def check_version(overlay, header):
    """Raises Missing if the headers are not those that the committed file is of."""
    name = os.path.basename(overlay.path)
    if overlay.version:
        macro, wanted = overlay.version
        found = header.macro(macro)
        if found != wanted:
            raise Missing(f"{name}: {macro} is {found}, the committed file is of {wanted}")
    if overlay.digest:
        file, wanted = overlay.digest
        for directory in [option[2:] for option in overlay.options if option.startswith("-I")]:
            if os.path.exists(os.path.join(directory, file)):
                with open(os.path.join(directory, file), "rb") as stream:
                    found = hashlib.sha256(stream.read()).hexdigest()[:len(wanted)]
                if found != wanted:
                    raise Missing(f"{name}: {file} has the digest {found}, the committed file is of {wanted}")


def generate(path, includes):
    overlay = Overlay(path, includes)
    try:
        header = Header(overlay.headers, overlay.options, overlay.functions, overlay.types, overlay.arrays, overlay.handles_only)
    except RuntimeError as error:
        raise Missing(f"{os.path.basename(path)}: headers cannot be read: {str(error).splitlines()[0]}") from error
    check_version(overlay, header)
    return Writer(overlay, header).write()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("-I", dest="includes", action="append", default=[], metavar="DIR")
    parser.add_argument("overlays", nargs="+", metavar="OVERLAY")
    arguments = parser.parse_args()
    status = 0
    for path in arguments.overlays:
        name = os.path.splitext(os.path.basename(path))[0] + ".hooks"
        target = os.path.join(os.path.dirname(os.path.abspath(path)), "..", name)
        try:
            text = generate(path, arguments.includes)
        except Missing as missing:
            print(missing)
            status = status or 3
            continue
        if not arguments.check:
            with open(target, "w", encoding="utf-8") as stream:
                stream.write(text)
            continue
        with open(target, encoding="utf-8") as stream:
            committed = stream.read()
        difference = list(difflib.unified_diff(committed.split("\n"), text.split("\n"), name, "from the headers", lineterm="", n=0))
        print("\n".join(difference) if difference else f"{name} is what its overlay and headers give")
        status = 1 if difference else status
    return status


if __name__ == "__main__":
    sys.exit(main())
