"""The agent, libhookagent.so: where it is, whether it is loaded, and its functions for hooktrace._native."""
import ctypes
import os
import shutil
from typing import Dict, List, Optional, Tuple

from . import _native

LIBRARY = "libhookagent.so"
VERSION = "hk_agent_version"
FUNCTIONS = ("hk_start_late", "hk_site_define", "hk_is_on", "hk_enter", "hk_leave", "hk_hook_pointer", "hk_range_push", "hk_range_pop", "hk_mark",
             "hk_step", "hk_counter", "hk_agree")
REASON_BYTES = 256

_bound: Optional[ctypes.CDLL] = None


class AgentError(RuntimeError):
    """The agent is missing, or does not trace this process; the text says why and what to do."""


def _candidates() -> List[str]:
    chosen = os.environ.get("HOOK_AGENT")
    if chosen:
        return [chosen]
    found = [os.path.join(os.path.dirname(os.path.abspath(__file__)), LIBRARY)]
    cli = shutil.which("hookcli")
    if cli:
        prefix = os.path.dirname(os.path.dirname(os.path.realpath(cli)))
        found += [os.path.join(prefix, lib, "hooktrace", LIBRARY) for lib in ("lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu")]
        found.append(os.path.join(prefix, "agent", LIBRARY))
    return found


def path() -> Optional[str]:
    """The agent's path without links: of $HOOK_AGENT, of this package, or of the installation that has `hookcli`. None if there is no such file."""
    return next((os.path.realpath(name) for name in _candidates() if os.path.isfile(name)), None)


def loaded() -> Optional[ctypes.CDLL]:
    """The agent that is in this process already, or None. Nothing is loaded."""
    program = ctypes.CDLL(None)
    if hasattr(program, VERSION):
        return program
    for name in filter(None, (LIBRARY, path())):
        try:
            return ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_NOW | os.RTLD_GLOBAL)
        except OSError:
            continue
    return None


def is_preloaded() -> bool:
    """Whether the agent came with LD_PRELOAD, and so has traced this process from its first instruction."""
    return hasattr(ctypes.CDLL(None), VERSION) and LIBRARY in os.environ.get("LD_PRELOAD", "")


def load() -> ctypes.CDLL:
    """Loads the agent, or finds the loaded one, and gives its functions to _native. Raises AgentError if there is none."""
    global _bound
    if _bound is not None:
        return _bound
    library = loaded()
    if library is None:
        file = path()
        if file is None:
            chosen = os.environ.get("HOOK_AGENT")
            if chosen:
                raise AgentError(f"HOOK_AGENT names {chosen}, which is no file: name {LIBRARY}, or unset it")
            raise AgentError(f"found no {LIBRARY}: install the package again, or name the file in HOOK_AGENT")
        try:
            library = ctypes.CDLL(file, mode=os.RTLD_NOW | os.RTLD_GLOBAL)
        except OSError as error:
            raise AgentError(f"cannot load {file}: {error}") from None
    for name in FUNCTIONS:
        address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value if hasattr(library, name) else 0
        _native.bind(name, address or 0)
    _bound = library
    return library


def is_on(library: ctypes.CDLL) -> bool:
    """Whether the loaded agent traces this process."""
    return bool(ctypes.c_int.in_dll(library, "hk_agent_on").value) if hasattr(library, "hk_agent_on") else is_preloaded()


def can_start_late(library: ctypes.CDLL) -> bool:
    """Whether the agent knows how to start in a process that runs already."""
    return hasattr(library, "hk_start_late")


def start_late(library: ctypes.CDLL, settings: Dict[str, str]) -> bool:
    """Has the loaded agent trace this process with SETTINGS, {"HOOK_X": value}. Returns whether it did not before. Raises AgentError if it refuses."""
    lines = [f"{name}={value}".encode() for name, value in settings.items()]
    array = (ctypes.c_char_p * (len(lines) + 1))(*lines, None)
    reason = ctypes.create_string_buffer(REASON_BYTES)
    library.hk_start_late.argtypes = [ctypes.POINTER(ctypes.c_char_p), ctypes.c_char_p, ctypes.c_size_t]
    status = library.hk_start_late(array, reason, REASON_BYTES)
    if status < 0:
        raise AgentError(reason.value.decode(errors="replace") or "the agent refuses this process")
    return status == 0


def stop_late(library: ctypes.CDLL) -> None:
    """Has the loaded agent leave this process: all slots lead where they led before. Raises AgentError if it cannot."""
    if not hasattr(library, "hk_stop_late"):
        raise AgentError("this agent cannot leave a process")
    reason = ctypes.create_string_buffer(REASON_BYTES)
    library.hk_stop_late.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    if library.hk_stop_late(reason, REASON_BYTES) < 0:
        raise AgentError(reason.value.decode(errors="replace") or "the agent cannot leave this process")


def version(library: ctypes.CDLL) -> str:
    """The version of the loaded agent, as "0.1.0"."""
    return ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(library, VERSION))).decode()


def environment(file: str, settings: Dict[str, str]) -> Dict[str, Tuple[Optional[str], str]]:
    """What programs that this process starts need to load the agent at FILE: {name: (value now, value)}."""
    before = os.environ.get("LD_PRELOAD", "")
    wanted = dict(settings)
    if LIBRARY not in before:
        wanted["LD_PRELOAD"] = f"{file}:{before}" if before else file
    return {name: (os.environ.get(name), value) for name, value in wanted.items()}
