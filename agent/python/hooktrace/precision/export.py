"""python -m hooktrace.precision.export DUMP --format msprobe|ptdbg -o DIRECTORY

Writes a dump of hooktrace as the files of another tool, which then reads it as one of its own. What it takes of the disk is said before.
"""
import argparse
import os
import shutil
import sys
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from . import reading
from .formats import msprobe, ptdbg
from .formats.progress import Progress

FAILED = 1


class _Format(NamedTuple):
    estimate: Callable[[Any, argparse.Namespace], Tuple[int, int]]
    export: Callable[[Any, argparse.Namespace, Progress], msprobe.Written]


_FORMATS: Dict[str, _Format] = {
    "msprobe": _Format(lambda dump, _: msprobe.estimate(dump), lambda dump, options, progress: msprobe.export_msprobe(dump, options.output, progress)),
    "ptdbg": _Format(lambda dump, options: ptdbg.estimate(dump, options.dump_step),
                     lambda dump, options, progress: ptdbg.export_ptdbg(dump, options.output, options.dump_step, progress)),
}


def size_text(size: float) -> str:
    """SIZE bytes as "1.2 GiB"."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def _parse(arguments: Optional[List[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m hooktrace.precision.export", description="Writes a dump of hooktrace as the files of another tool.")
    parser.add_argument("dump", metavar="DUMP", help="the dump's directory, with its rank<R>-<pid>.hkv files")
    parser.add_argument("--format", required=True, choices=sorted(_FORMATS), help="whose files: msprobe (dump.json and .pt), or ptdbg_ascend"
                        " (.pkl and .npy)")
    parser.add_argument("-o", "--output", required=True, metavar="DIRECTORY", help="where to; it must be empty or absent")
    parser.add_argument("--dump-step", type=int, default=1, metavar="N", help="ptdbg: keep each N-th element of large tensors, 1 (all, the default)"
                        f" to {ptdbg.STEP_MAX}")
    options = parser.parse_args(arguments)
    if not 1 <= options.dump_step <= ptdbg.STEP_MAX:
        parser.error(f"argument --dump-step: {options.dump_step} is not from 1 to {ptdbg.STEP_MAX}")
    return options


def _free(path: str) -> int:
    """Bytes that are free where PATH is, or will be."""
    place = os.path.abspath(path)
    while not os.path.exists(place):
        place = os.path.dirname(place)
    return shutil.disk_usage(place).free


def _export(options: argparse.Namespace) -> None:
    chosen = _FORMATS[options.format]
    dump = reading.open(options.dump)
    rows, size = chosen.estimate(dump, options)
    free = _free(options.output)
    print(f"{rows:,} rows: about {size_text(size)} in {options.output}, where {size_text(free)} are free", file=sys.stderr)
    if size > free:
        raise OSError(f"cannot write {options.output}: about {size_text(size)} are needed, {size_text(free)} are free (free some, or choose another disk)")
    written = chosen.export(dump, options, Progress(rows))
    left_out = f"; {written.left_out:,} rows have no place there and were left out" if written.left_out else ""
    print(f"{written.rows:,} rows in {written.files:,} files, {size_text(written.bytes)}{left_out}", file=sys.stderr)


def main(arguments: Optional[List[str]] = None) -> int:
    options = _parse(arguments)
    try:
        _export(options)
    except OSError as error:
        print(f"{error}" if str(error).startswith("cannot ") else f"cannot export {options.dump}: {error}", file=sys.stderr)
        return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
