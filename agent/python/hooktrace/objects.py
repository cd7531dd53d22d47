"""The shared objects of this process, and the functions that each of them calls in others."""
import struct
import sys
from typing import Iterator, List, NamedTuple, Set

PT_LOAD, PT_DYNAMIC = 1, 2
DT_STRTAB, DT_SYMTAB, DT_RELA, DT_RELASZ, DT_JMPREL, DT_PLTRELSZ = 5, 6, 7, 8, 23, 2
RELA_BYTES, SYMBOL_BYTES, DYNAMIC_BYTES = 24, 24, 16
# Relocations of slots through which functions are called: GLOB_DAT and JUMP_SLOT of x86-64 and aarch64.
SLOT_KINDS = {6, 7, 1025, 1026}


class NotElf(ValueError):
    """The file is no 64-bit little-endian ELF object with a dynamic section."""


class _Segment(NamedTuple):
    address: int
    offset: int
    size: int


def loaded() -> List[str]:
    """The paths of the program and of all loaded shared objects, in the order of their addresses."""
    paths = {}
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            fields = line.rstrip("\n").split(maxsplit=5)
            if len(fields) == 6 and fields[5].startswith("/") and "x" in fields[1] and not fields[5].endswith(" (deleted)"):
                paths[fields[5]] = None
    return list(paths)


def _offset(segments: List[_Segment], address: int) -> int:
    for segment in segments:
        if segment.address <= address < segment.address + segment.size:
            return address - segment.address + segment.offset
    raise NotElf("an address is in no segment")


def _relocated(data: bytes, table: int, size: int) -> Iterator[int]:
    for at in range(table, table + size, RELA_BYTES):
        info = struct.unpack_from("<Q", data, at + 8)[0]
        if info & 0xffffffff in SLOT_KINDS:
            yield info >> 32


def imports_of(data: bytes) -> Set[str]:
    """The names of the functions that slots of the ELF object DATA are for. Raises NotElf."""
    if data[:6] != b"\x7fELF\x02\x01" or sys.byteorder != "little":
        raise NotElf("no 64-bit little-endian ELF object")
    try:
        start, = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        segments, dynamic = [], None
        for i in range(count):
            kind, _, offset, address, _, file_size = struct.unpack_from("<IIQQQQ", data, start + i * size)
            if kind == PT_LOAD:
                segments.append(_Segment(address, offset, file_size))
            elif kind == PT_DYNAMIC:
                dynamic = (offset, file_size)
        if dynamic is None:
            raise NotElf("no dynamic section")
        tags = dict(struct.unpack_from("<QQ", data, at) for at in range(dynamic[0], dynamic[0] + dynamic[1], DYNAMIC_BYTES))
        return set(_names(data, segments, tags))
    except (struct.error, KeyError) as error:
        raise NotElf(f"damaged: {error}") from None


def _names(data: bytes, segments: List[_Segment], tags: "dict[int, int]") -> Iterator[str]:
    symbols, strings = _offset(segments, tags[DT_SYMTAB]), _offset(segments, tags[DT_STRTAB])
    for table, size in ((DT_JMPREL, DT_PLTRELSZ), (DT_RELA, DT_RELASZ)):
        if table not in tags:
            continue
        for index in _relocated(data, _offset(segments, tags[table]), tags.get(size, 0)):
            name, = struct.unpack_from("<I", data, symbols + index * SYMBOL_BYTES)
            end = data.index(b"\0", strings + name)
            yield data[strings + name:end].decode(errors="replace")


def imports(path: str) -> Set[str]:
    """imports_of() the file at PATH; none of a file that cannot be read or is no such object."""
    try:
        with open(path, "rb") as file:
            return imports_of(file.read())
    except (OSError, NotElf):
        return set()

