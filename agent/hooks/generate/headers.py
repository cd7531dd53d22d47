"""Functions of a C header, with the types of the hooks language: clang parses the header, and a probe measures its types.

Only names and types are taken. Needs clang and a C compiler.
"""
import json
import os
import re
import subprocess
import tempfile

PRELUDE = "#include <stddef.h>\n#include <stdint.h>\n#include <stdbool.h>\n"
WORDS = {"char": 1, "signed char": 1, "unsigned char": 1, "short": 2, "unsigned short": 2, "_Bool": 1, "int": 4, "unsigned int": 4,
         "long": 8, "unsigned long": 8, "long long": 8, "unsigned long long": 8}
QUALIFIERS = re.compile(r"\b(const|volatile|restrict|__restrict)\b")


class Parameter:
    """One parameter: its C type as written, and what the language calls it (`word` is None if it has no word)."""

    def __init__(self, name, written):
        self.name, self.written = name, written
        self.word, self.reference, self.floating = None, False, False

    @property
    def words(self):
        """Places in the hook's list of arguments."""
        return 2 if self.word == "dim3" else 1

    def __str__(self):
        return f"{self.word} {'*' if self.reference else ''}{self.name}"


class Function:
    def __init__(self, name, result, parameters):
        self.name, self.result, self.parameters = name, result, parameters
        self.result_word = None

    def shape(self):
        """The types of its parameters."""
        return [(parameter.word, parameter.reference) for parameter in self.parameters]


class Header:
    """The functions of HEADERS whose names match FUNCTIONS. TYPES maps C types to words; pointers named in ARRAYS are not followed, and with HANDLES_ONLY only
    pointers to handles are."""

    def __init__(self, headers, options, functions, types=(), arrays=(), handles_only=False):
        self.source = PRELUDE + "".join(f'#include "{header}"\n' for header in headers)
        self.options, self.named, self.types = options, re.compile(functions), dict(types)
        self.arrays, self.handles_only = frozenset(arrays), handles_only
        self.typedefs, self.functions, self.sizes = {}, {}, {}
        self._read()
        self._measure()
        for function in self.functions.values():
            self._translate(function)

    def _read(self):
        command = ["clang", "-x", "c", "-std=gnu17", "-w", "-fsyntax-only", "-Xclang", "-ast-dump=json", *self.options, "-"]
        done = subprocess.run(command, input=self.source, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        for node in json.loads(done.stdout)["inner"]:
            if node["kind"] == "TypedefDecl":
                self.typedefs[node["name"]] = node["type"]["qualType"]
            elif node["kind"] == "FunctionDecl" and self._is_wanted(node):
                parameters = [
                    Parameter(part.get("name", f"arg{i}"), part["type"]["qualType"])
                    for i, part in enumerate(p for p in node.get("inner", []) if p["kind"] == "ParmVarDecl")]
                result = node["type"]["qualType"].split("(", 1)[0].strip()
                self.functions[node["name"]] = Function(node["name"], result, parameters)

    def _is_wanted(self, node):
        """Functions of headers alone have no slot."""
        return (self.named.fullmatch(node["name"]) and node["name"] not in self.functions and
                node.get("storageClass") != "static")

    def _by_value(self):
        """Pairs of a type without typedefs, and a name by which a program can measure it."""
        for function in self.functions.values():
            for written in [function.result, *(parameter.written for parameter in function.parameters)]:
                for text in (written, self._pointee(written) or "int"):
                    base = self.resolve(text)
                    by_value = text is written or base.startswith("enum ")
                    if by_value and not base.endswith("*") and base not in WORDS and base not in ("void", "float", "double"):
                        yield base, " ".join(QUALIFIERS.sub(" ", text).split())

    def _measure(self):
        names = dict(self._by_value())
        program = "#include <stdio.h>\n" + self.source + "int main(void)\n{\n"
        program += "".join(f'printf("%zu\\n", sizeof({name}));\n' for name in names.values()) + "return 0;\n}\n"
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "probe")
            subprocess.run(["cc", "-x", "c", "-w", *self.options, "-o", path, "-"], input=program, text=True, check=True)
            printed = subprocess.run([path], capture_output=True, text=True, check=True).stdout
        self.sizes = dict(zip(names, map(int, printed.split())))

    def macro(self, name):
        """The value of a number that the headers define, or None."""
        command = ["cc", "-x", "c", "-w", "-E", "-P", *self.options, "-"]
        text = subprocess.run(command, input=self.source + f"HK_VALUE {name}\n", capture_output=True, text=True, check=True).stdout
        value = text.rsplit("HK_VALUE", 1)[1].strip()
        if re.fullmatch(r"[0-9+*() ]+", value):
            return str(eval(value))  # pylint: disable=eval-used
        return None

    # ---- types

    def resolve(self, written):
        """The type behind all typedefs, without qualifiers; any pointer ends in `*`."""
        text = " ".join(QUALIFIERS.sub(" ", written).split())
        for _ in range(20):
            if "(*" in text or text.endswith(("*", "]", ")")):
                return "void *"
            if text not in self.typedefs:
                return text
            text = " ".join(QUALIFIERS.sub(" ", self.typedefs[text]).split())
        raise RuntimeError(f"typedef without end: {written}")

    @staticmethod
    def _pointee(written):
        """What a pointer that may be written through points to, or None."""
        text = written.strip()
        if not text.endswith("*") or "(" in text:
            text = re.sub(r"\*\s*(const|restrict|__restrict)$", "*", text)
        if not text.endswith("*") or "(" in text:
            return None
        pointee = text[:-1].strip()
        constant = re.search(r"\bconst$", pointee) or (not pointee.endswith("*") and re.search(r"\bconst\b", pointee))
        return None if constant else pointee

    def _scalar(self, written):
        """The word of a value of this type, or None."""
        plain = " ".join(QUALIFIERS.sub(" ", written).split())
        if plain in self.types:
            return self.types[plain]
        base = self.resolve(written)
        if base.endswith("*"):
            return "ptr"
        if base in ("float", "double", "void"):
            return base
        if base in ("long", "long long"):
            return "long"
        size = WORDS.get(base, self.sizes.get(base, 0))
        if base.startswith(("struct ", "union ")) or base not in WORDS and not base.startswith("enum "):
            return self._structure(base, size)
        signed = not base.startswith("unsigned")
        return {8: "ulong", 4: "int" if signed else "uint"}.get(size, "int") if size else None

    def is_status(self, function):
        """Whether a result other than 0 is a failure."""
        status = re.search(r"error|result|status|^herr_t$|^int$", function.result, re.IGNORECASE)
        return function.result_word in ("int", "uint") and (bool(status) or self.resolve(function.result).startswith("enum "))

    def _structure(self, base, size):
        """Structs of floats have registers of their own: they have no word."""
        if base == "struct dim3" or base == "dim3":
            return "dim3"
        if "omplex" in base or base in ("struct float2", "struct double2"):
            return None
        if 16 < size <= 128:
            return f"struct({size})"
        return "ulong" if 0 < size <= 8 else None

    def _translate(self, function):
        function.result_word = self._scalar(function.result)
        if re.fullmatch(r"(const\s+)?char\s*\*", function.result):
            function.result_word = "str"
        for parameter in function.parameters:
            self._translate_parameter(parameter)

    def _translate_parameter(self, parameter):
        parameter.word = self._scalar(parameter.written)
        parameter.floating = parameter.word in ("float", "double")
        if parameter.word != "ptr" or parameter.name in self.arrays:
            return
        if re.fullmatch(r"const\s+char\s*\*\s*(const)?", parameter.written):
            parameter.word = "text" if "name" in parameter.name.lower() else "str"
            return
        pointee = self._pointee(parameter.written)
        if pointee is None:
            return
        word = self._scalar(pointee)
        base = self.resolve(pointee)
        handle = base.endswith("*") and not pointee.endswith("*")
        small = base in WORDS and WORDS[base] < 4
        known = base in WORDS or base in self.sizes or word in ("ptr", "float", "double")
        opaque = base.startswith(("struct ", "union ")) or not known
        mapped = " ".join(QUALIFIERS.sub(" ", pointee).split()) in self.types
        if self.handles_only and not handle and not mapped:
            return
        if mapped or (word in ("ptr", "int", "uint", "long", "ulong", "float", "double") and not small and not opaque):
            parameter.word, parameter.reference = word, True
