"""python -m hooktrace run [OPTION...] [--python] [--apis] SCRIPT [ARG...] | -m MODULE [ARG...]

Traces a Python program from its first instruction: `hookcli run` with this interpreter. OPTIONs are those of `hookcli run`.
--python also traces Python functions, --apis times the APIs of torch, Paddle and MindSpore (hooktrace/startup.py).

python -m hooktrace parquet --to DIR [OPTION...] JOB...

Writes jobs as one tree of Parquet files: `python -m hooktrace parquet --help`.
"""
import argparse
import os
import re
import subprocess
import sys
import warnings
from typing import Any, List, NoReturn, Set, Tuple, Union

from . import agent, hookcli, startup

FAILED = 1
USAGE = 2
UNUSABLE = 125  # as hookcli run
# Options of this command: the variable that startup.py reads.
OWN = {"--python": "HOOK_PYTHON_TRACE", "--apis": "HOOK_PYTHON_APIS"}


def fail(text: str, status: int) -> NoReturn:
    print(f"hooktrace: error: {text}", file=sys.stderr)
    sys.exit(status)


def with_value(cli: str) -> Set[str]:
    """The options of `hookcli run` that a value follows."""
    shown = subprocess.run([cli, "run", "--help"], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
    return set(re.findall(r"(--[a-z-]+)=", shown))


def split(arguments: List[str], valued: Set[str]) -> Tuple[List[str], List[str], List[str]]:
    """ARGUMENTS as options of hookcli run, variables for startup.py, and the script or `-m MODULE` with its arguments."""
    options, variables = [], []
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if word == "--":
            return options, variables, arguments[at + 1:]
        if word == "-m" or not word.startswith("-"):
            break
        name = word.split("=")[0]
        if name in OWN:
            variables.append(OWN[name])
        else:
            options.append(word)
            if name in valued and "=" not in word and at + 1 < len(arguments):
                at += 1
                options.append(arguments[at])
        at += 1
    return options, variables, arguments[at:]


def run(arguments: List[str]) -> NoReturn:
    cli = hookcli.find()
    if cli is None:
        fail("hookcli is neither beside this package nor in PATH: `pip install hooktrace-tools`", UNUSABLE)
    options, variables, program = split(arguments, with_value(cli))
    if not program or program == ["-m"]:
        fail("no script was given (python -m hooktrace run [OPTION...] SCRIPT [ARG...])", USAGE)
    file = agent.path()
    if file is not None:
        os.environ.setdefault("HOOK_AGENT", file)
    for name in variables:
        os.environ[name] = os.environ.get(name) or "1"
    python = [sys.executable, "-m", startup.__name__] if any(os.environ.get(name) for name in OWN.values()) else [sys.executable]
    sys.stdout.flush()
    os.execv(cli, [cli, "run", *options, "--", *python, *program])


def parquet_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m hooktrace parquet", description="Write jobs as one tree of Parquet files, for DuckDB, Spark and others.",
                                     epilog="Example: python -m hooktrace parquet --to warehouse --version-pattern '-v([0-9.]+)' store")
    parser.add_argument("jobs", nargs="+", metavar="JOB", help="a job's directory or id, or a directory with jobs")
    parser.add_argument("--to", required=True, metavar="DIR", help="Write to DIR, which is made if need be")
    parser.add_argument("--tables", metavar="NAMES", help="Write only the tables NAMES, with commas between (default all)")
    version = parser.add_mutually_exclusive_group()
    version.add_argument("--version", metavar="TEXT", help="Set the version of all these jobs to TEXT")
    version.add_argument("--version-pattern", metavar="REGEX", help="Take the version of each job from its id or command: the first group of REGEX")
    return parser


def parquet(words: List[str]) -> NoReturn:
    parser = parquet_parser()
    options = parser.parse_args(words)
    said: List[str] = []

    def say(message: Union[Warning, str], *_: Any, **__: Any) -> None:
        said.append(str(message))
        print(message, file=sys.stderr)
    try:
        from .warehouse import to_parquet
        version = re.compile(options.version_pattern) if options.version_pattern is not None else options.version
        with warnings.catch_warnings():
            warnings.simplefilter("always", RuntimeWarning)
            warnings.showwarning = say
            to_parquet(options.jobs, options.to, options.tables.split(",") if options.tables else None, version)
    except re.error as error:
        parser.error(f"invalid --version-pattern '{options.version_pattern}': {error}")
    except ImportError as error:
        fail(str(error).replace("hooktrace: ", "", 1), UNUSABLE)
    except (OSError, ValueError) as error:
        fail(str(error).replace("hooktrace: ", "", 1), FAILED)
    sys.exit(FAILED if said else 0)


def main() -> None:
    words = sys.argv[1:]
    if words[:1] == ["run"]:
        run(words[1:])
    if words[:1] == ["parquet"]:
        parquet(words[1:])
    help_wanted = words[:1] in (["--help"], ["-h"])
    print(__doc__.strip(), file=sys.stdout if help_wanted else sys.stderr)
    sys.exit(0 if help_wanted else USAGE)


if __name__ == "__main__":
    main()
