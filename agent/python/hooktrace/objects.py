"""The shared objects of this process, and the functions that each of them calls in others."""
import ctypes
import os
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


class Object(NamedTuple):
    """A loaded object: its name as the loader has it, "" for the program, and the path of its file."""
    name: str
    path: str


class _Info(ctypes.Structure):
    """The part of struct dl_phdr_info that all versions of libc have."""
    _fields_ = [("address", ctypes.c_size_t), ("name", ctypes.c_char_p), ("headers", ctypes.c_void_p), ("count", ctypes.c_uint16)]


def loaded() -> List[Object]:
    """The program and all loaded shared objects, in the loader's order."""
    found = []
    callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Info), ctypes.c_size_t, ctypes.c_void_p)

    def take(info: "ctypes._Pointer[_Info]", _size: int, _data: int) -> int:
        name = info.contents.name.decode(errors="surrogateescape")
        if name.startswith("/") or not found:
            found.append(Object(name if found else "", name if found else os.path.realpath("/proc/self/exe")))
        return 0

    # PyDLL: the interpreter's lock is kept, so that no thread with it waits for the loader's lock meanwhile.
    ctypes.PyDLL(None).dl_iterate_phdr(callback(take), None)
    return found


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

