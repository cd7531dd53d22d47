#!/usr/bin/env python3
"""Functions looked up by name, with and without the probe: the same output, and every call counted once, or said to escape."""
import os
import sys
import tempfile
import unittest

from probe import DIRECTORY, same

DESCRIBED = "long target_add(long a, long b)\n"
DRIVER = """
domain driver
int cuMemAlloc_v2(ptr *address, ulong bytes)  alloc pointer=*address size=bytes
int driverMemFree(ptr address)
int cuMemFree_v2(ptr address)  free pointer=address
int cuLaunchKernel(ptr function, uint x)  launch
int cuStreamSynchronize(ptr stream)  wait
"""


def look(how, **more):
    result = same("patch_lookup", how, **more)
    result.made = {key: count for key, count in result.calls.items() if count}
    result.escaped = result.numbers["escaped"]
    return result


def look_with(text, how, **more):
    with tempfile.NamedTemporaryFile("w", suffix=".hooks") as file:
        file.write(text)
        file.flush()
        return look(how, hooks=file.name, **more)


class Lookup(unittest.TestCase):
    def test_handles(self):
        """By handle and version: each definition apart, data as it is, an indirect function as it was chosen."""
        result = look_with(DESCRIBED + "*:target_version\n*:target_data\n*:target_chosen\n", "handle")
        self.assertEqual(result.output.splitlines()[:2], ["10", "2 3 4 5"])
        self.assertEqual(result.made, {("target_add", "*"): 5, ("target_version", "*"): 4, ("target_chosen", "*"): 2})
        self.assertEqual(result.escaped, 0)

    def test_deny_holds(self):
        result = look_with(DESCRIBED + "*:target_*\ndeny target_add\n", "handle")
        self.assertNotIn(("target_add", "*"), result.made)
        self.assertEqual(result.escaped, 0)

    def test_default_scope(self):
        """What any scope gives is hooked; what depends on who asks is left to the loader and counted as escaped."""
        result = look_with(DESCRIBED + "*:target_side\n", "anywhere")
        self.assertEqual(result.output, "6\n3\n11\n1 21\n2\n")
        self.assertEqual(result.made, {("target_add", "*"): 7, ("target_side", "*"): 1})
        self.assertEqual(result.providers["target_side", "*"], "libright.so")
        self.assertEqual(result.escaped, 1)

    def test_an_opened_caller(self):
        result = look("single", hooks="*:target_side")
        self.assertEqual((result.output, result.made, result.escaped), ("20\n", {("target_side", "*"): 3}, 0))

    def test_a_scope_of_its_own(self):
        result = look("deep", hooks="*:target_side")
        self.assertEqual((result.output, result.made, result.escaped), ("11\n", {}, 1))

    def test_errors_are_those_of_the_loader(self):
        result = look_with(DESCRIBED + "*:target_nothing\n", "errors")
        self.assertIn("target_nothing", result.output)
        self.assertEqual(result.escaped, 0)

    def test_identity(self):
        """One shared thunk for a described function; an address that lies in a slot otherwise stays as it is."""
        described = look_with(DESCRIBED, "identity")
        self.assertEqual(described.output, "1 1 1\n1 target_add libtarget.so 1\n1 1\n10\n")
        self.assertEqual((described.made, described.escaped), ({("target_add", "*"): 5}, 0))
        pattern = look("identity")
        self.assertEqual((pattern.called("target_add", "*"), pattern.escaped), (0, 1))

    def test_functions_nobody_described(self):
        """A plug-in's are looked up to be called; the program's own may be compared."""
        result = look("plugin")
        self.assertEqual(result.made, {("target_plain", "*"): 3})
        self.assertEqual(result.escaped, 1)

    def test_the_loader_is_looked_up(self):
        result = look_with(DESCRIBED, "again")
        self.assertEqual(result.output, "15\n0\n1\n1\n")
        self.assertEqual(result.made, {("target_add", "libplug.so"): 6, ("target_add", "*"): 2})

    def test_pointers_from_before_the_start(self):
        result = look_with(DESCRIBED, "early")
        self.assertEqual((result.output, result.made), ("36\n", {}))

    def test_an_interposer_is_counted_once(self):
        for library, escaped in ("interposer", 0), ("interposer_handle", 1):
            with self.subTest(library=library):
                path = os.path.join(DIRECTORY, f"lib{library}.so")
                result = look_with(DESCRIBED, "interposed", preload=path)
                self.assertEqual(result.made, {("target_add", "liblazy.so"): 5, ("target_add", "libnow.so"): 6,
                                               ("target_add", "patch_lookup"): 1})
                self.assertEqual(result.output.splitlines()[1], "12")
                self.assertEqual(result.escaped, escaped)

    def test_origin_is_the_callers(self):
        result = look("origin")
        self.assertEqual(result.output.splitlines()[0], "28")
        self.assertEqual(result.called("target_add", "libplug.so"), 8)

    def test_threads_open_look_up_and_close(self):
        result = look_with(DESCRIBED + "*:target_negate\n", "threads")
        self.assertEqual(result.made, {("target_add", "libplug.so"): 2700, ("target_add", "*"): 1800,
                                       ("target_negate", "patch_lookup"): 900})
        self.assertEqual(result.escaped, 0)

    def test_a_drivers_functions(self):
        """What it gives is hooked as the exported function that it is, else by name alone, else not at all."""
        result = look_with(DRIVER, "driver")
        self.assertEqual(result.made, {("cuMemAlloc_v2", "patch_lookup"): 3, ("cuMemFree_v2", "patch_lookup"): 2,
                                       ("cuLaunchKernel", "patch_lookup"): 1})
        self.assertEqual(result.escaped, 1)

    def test_the_look_up_itself_is_counted(self):
        result = look("driver", hooks="*:cuGetProcAddress*")
        # The driver's own calls of the newer form go through no slot, as in the real one.
        self.assertEqual(result.made, {("cuGetProcAddress", "*"): 7, ("cuGetProcAddress_v2", "patch_lookup"): 1})

    def test_a_runtime_between(self):
        """Calls count for the last caller of dlsym: the runtime itself, or its caller."""
        result = look_with(DRIVER, "runtime")
        self.assertEqual(result.output, "0\n0 0\n0\n0\n0\n")
        self.assertEqual(result.made, {("cuMemAlloc_v2", "libruntime.so"): 4, ("cuMemAlloc_v2", "patch_lookup"): 1,
                                       ("cuMemFree_v2", "patch_lookup"): 1})
        self.assertEqual(result.escaped, 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
