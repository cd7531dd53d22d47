"""The simulated agent of recorder.c, as a program sees it that has hooktrace's extension use it."""
import ctypes

from hooktrace import _native


class Recorder:
    """What reached the agent, by function."""

    def __init__(self, path):
        self._library = ctypes.CDLL(path)
        self._library.recorder_wrong.restype = ctypes.c_uint64
        for name in ("hk_site_define", "hk_enter", "hk_leave"):
            _native.bind(name, ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value)

    def clear(self):
        self._library.recorder_clear()

    def wrong(self):
        """Calls that did not end in the reverse order of their beginnings."""
        return self._library.recorder_wrong()

    def sites(self):
        """{function: (library, domain, entered, left, failed)} of those that were called."""
        texts, numbers = (ctypes.c_char_p * 3)(), (ctypes.c_uint64 * 3)()
        found, site = {}, 0
        while self._library.recorder_site(site, texts, numbers):
            if numbers[0] or numbers[1]:
                found[texts[0].decode()] = (texts[1].decode(), texts[2].decode(), *numbers)
            site += 1
        return found

    def calls(self):
        """{function: (calls, errors)}"""
        for name, (_, _, entered, left, _) in self.sites().items():
            assert entered == left, (name, entered, left)
        return {name: (entered, failed) for name, (_, _, entered, _, failed) in self.sites().items()}
