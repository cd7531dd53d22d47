"""Shared libraries made of C or C++ source while the program runs."""
import atexit
import os
import shlex
import shutil
import subprocess
import tempfile
from typing import List, Optional, Sequence

_directory: Optional[str] = None


class CompileError(RuntimeError):
    """The compiler is missing or refused the source; the text is what it said."""


def _folder() -> str:
    global _directory
    if _directory is None or not os.path.isdir(_directory):
        _directory = tempfile.mkdtemp(prefix="hooktrace-")
        atexit.register(shutil.rmtree, _directory, ignore_errors=True)
    return _directory


def _compiler(language: str) -> List[str]:
    variable, fallback = ("CXX", "c++") if language == "c++" else ("CC", "cc")
    words = shlex.split(os.environ.get(variable) or fallback)
    if not words or shutil.which(words[0]) is None:
        raise CompileError(f"found no compiler '{' '.join(words)}': install one, or name it in {variable}")
    return words


def compile_source(source: str, *, language: str = "c", options: Sequence[str] = ()) -> str:
    """Compiles SOURCE, text of the LANGUAGE "c" or "c++", with further OPTIONS of the compiler ($CC or cc, $CXX or c++).

    Returns the path of the shared library, which is removed when the program ends: `hooktrace.replace("puts", path + ":my_puts")`. Functions of C++ that
    are to be found have to be `extern "C"`. Raises CompileError.
    """
    if language not in ("c", "c++"):
        raise ValueError(f"language '{language}' is neither 'c' nor 'c++'")
    compiler = _compiler(language)
    number, path = tempfile.mkstemp(suffix=".so", prefix="lib", dir=_folder())
    os.close(number)
    standard = ["-std=c++17"] if language == "c++" else []
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run([*compiler, "-shared", "-fPIC", *standard, "-x", language, "-", "-x", "none", *options, "-o", path], input=source, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, check=False)
    if done.returncode != 0:
        os.unlink(path)
        raise CompileError(done.stdout.strip())
    return path
