#!/usr/bin/env python3
"""Runs the small programs with and without the probe: the same output, and every call counted once, where it was made."""
import os
import re
import sys
import tempfile
import unittest

from probe import DIRECTORY, PROBE, TWO_SLOTS, run, same


class Patch(unittest.TestCase):
    def test_every_kind_of_slot_counts_every_call(self):
        result = same("patch_program", "calls")
        self.assertEqual(result.output.split()[-2], "1")  # one address for one function
        self.assertEqual({key: count for key, count in result.calls.items() if count}, {
            ("target_add", "liblazy.so"): 5, ("target_add", "libnow.so"): 6, ("target_add", "*"): 7,
            ("target_add", "libsysv.so"): 8, ("target_own", "libown.so"): 9, ("target_add", "patch_program"): 1,
            ("target_negate", "liblazy.so"): 1, ("target_negate", "libnow.so"): 1, ("target_negate", "*"): 1,
            ("target_negate", "libsysv.so"): 1, ("target_negate", "libown.so"): 1,
            ("target_negate", "libpointer.so"): 1} | ({("target_add", "libpointer.so"): 2} if TWO_SLOTS else {}))
        # Each is defined once, so no slot needs the loader's stub.
        self.assertEqual(sum(result.rearmed.values()), 0)
        others = {"target_own": "libown.so", "target_version": "libversions.so", "target_meet": "libversions.so"}
        called = {key: provider for key, provider in result.providers.items() if result.called(*key)}
        for key, provider in called.items():
            self.assertEqual(provider, others.get(key[0], "libtarget.so"))
        self.assertEqual(result.numbers["pending"], 0)
        self.assertEqual(result.numbers["lookup"], 1)

    def test_lazy_slots_go_to_who_stands_before(self):
        """Callers of the global scope and definers in it: the first in load order is the one, and nothing changes that."""
        again = os.path.join(DIRECTORY, "libagain.so")
        result = run("patch_program", "calls", preload=again)
        self.assertEqual(result.output, run("patch_program", "calls", probe=False).output)
        for library, calls in ("liblazy.so", 5), ("libsysv.so", 8), ("libnow.so", 6):
            self.assertEqual(result.called("target_add", library), calls)
            self.assertEqual(result.providers["target_add", library], "libagain.so")
        self.assertEqual(sum(result.rearmed.values()), 0)

    def test_weak_rule_of_old_is_left_to_the_loader(self):
        result = run("patch_program", "calls", preload=os.path.join(DIRECTORY, "libagain.so"), LD_DYNAMIC_WEAK="1")
        self.assertEqual(result.called("target_add", "liblazy.so"), 5)
        self.assertEqual(result.rearmed["target_add", "liblazy.so"], 1)

    def test_each_caller_gets_the_version_that_it_asks_for(self):
        result = same("patch_program", "versions")
        self.assertEqual(result.output, "1 2\n11 12\n21 22\n")
        for library in "libv1.so", "libv2.so":
            self.assertEqual(result.called("target_version", library), 3)
            self.assertEqual(result.rearmed["target_version", library], 0)
            self.assertEqual(result.providers["target_version", library], "libversions.so")

    def test_calls_during_the_first_call_are_counted(self):
        result = same("patch_program", "blocked")
        self.assertEqual(result.output, "2 2 0\n")
        self.assertEqual(result.called("target_meet", "libv2.so"), 2)
        self.assertEqual(result.called("target_meet", "libv1.so"), 1)
        self.assertEqual(sum(result.rearmed.values()), 0)

    def test_lazy_slots_of_opened_libraries(self):
        """The loader is asked unless there is one answer: one definition, in what the caller is linked with."""
        for libraries, caller, rearmed in ((("left", "linked"), "liblinked.so", 0),
                                           (("left", "right", "linked"), "liblinked.so", 1),
                                           (("left", "right", "stray"), "libstray.so", 1),
                                           (("left", "stray"), "libstray.so", 1)):
            with self.subTest(libraries=libraries):
                result = same("patch_program", "sides", *libraries)
                self.assertEqual(result.output, "5\n")
                self.assertEqual(result.called("target_side", caller), 5)
                self.assertEqual(result.rearmed["target_side", caller], rearmed)

    def test_address_taken_of_a_function_stays_what_it_was(self):
        """No line describes target_add, so it may be one that is compared; once described, its shared thunk counts. What a
        library defines itself is left alone in any case."""
        self.assertEqual(run("patch_program", "calls").called("target_add", "*"), 7)
        with tempfile.NamedTemporaryFile("w", suffix=".hooks") as file:
            file.write("long target_add(long a, long b)\nlong target_same(long a, long b)\n")
            file.flush()
            result = same("patch_program", "calls", hooks=file.name)
        self.assertEqual(result.called("target_add", "*"), 7 + (2 if TWO_SLOTS else 4))
        self.assertEqual(result.called("target_add", "libnow.so"), 6)

    def test_coverage_adds_up(self):
        numbers = run("patch_program", "calls").numbers
        refused = sum(count for name, count in numbers.items() if name.startswith("refused"))
        self.assertGreater(numbers["patched"], 10)
        self.assertEqual(numbers["found"], numbers["patched"] + refused)
        # target_missing, weak and undefined, once for each library that asks for it, and one calls it; not target_data.
        self.assertEqual(numbers["refused5"], 5 + TWO_SLOTS)
        # Addresses that libpointer.so and libother.so take: of target_add and of the target_same that they define.
        self.assertEqual(numbers["refused7"], 4)
        self.assertEqual(numbers["scans"], 1)
        self.assertEqual(numbers["hidden"], 0)

    def test_program_counts_once_what_goes_through_its_plt(self):
        result = same("patch_nonpie")
        self.assertEqual(result.called("target_add", "patch_nonpie"), 5)
        self.assertEqual(result.called("target_add", "*"), 7)
        self.assertEqual(result.called("target_add", "liblazy.so"), 5)
        self.assertEqual(result.called("target_add", "libnow.so"), 6)
        self.assertEqual(sum(n for key, n in result.calls.items() if key[0] == "target_add"), 23)

    def test_pages_have_the_protection_they_had(self):
        def shape(output):
            found = []
            for line in output.splitlines():
                match = re.match(r"([0-9a-f]+)-([0-9a-f]+) (....) (\S+) \S+ \S+ +(/.*)", line)
                if match and match[5] != PROBE:
                    found.append((match[5], match[4], match[3], int(match[2], 16) - int(match[1], 16)))
            return found
        with_probe, without = run("patch_program", "maps"), run("patch_program", "maps", probe=False)
        self.assertGreater(with_probe.numbers["patched"], 10)
        self.assertTrue([row for row in shape(without.output) if row[0].endswith("libnow.so")])
        self.assertEqual(shape(with_probe.output), shape(without.output))

    def test_plugins_load_and_count_whoever_opens_them(self):
        result = same("patch_program", "plugs")
        lines = result.output.splitlines()
        self.assertEqual(lines[:4], ["-1", "45", "-1", "45"])
        self.assertIn("libnowhere.so", lines[11])
        self.assertEqual(lines[12:], ["no error", "21 1"])
        self.assertEqual(result.called("target_add", "libplug.so"), 50)

    def test_loading_while_another_thread_scans_loses_nothing(self):
        result = same("patch_program", "race")
        self.assertEqual(result.output, "3000 0\n")
        self.assertEqual(result.called("target_add", "libplug.so"), 3000)

    def test_a_forked_child_goes_on_scanning(self):
        result = same("patch_program", "forked")
        self.assertEqual(result.output, "6\n10 0\n")
        self.assertEqual(result.called("target_add", "libplug.so"), 5)

    def test_a_namespace_that_cannot_be_seen_is_reported(self):
        result = same("patch_program", "hidden")
        self.assertEqual(result.output, "5\n5\n")
        # Both hold a libtarget.so, which needs no libc, the second one libsysv.so besides.
        self.assertEqual((result.numbers["hidden"], result.numbers["hidden_objects"]), (2, 3))
        # target_add, looked up there.
        self.assertEqual(result.numbers["escaped"], 1)

    def test_from_limits_the_callers(self):
        result = same("patch_program", "calls", HOOK_FROM="libnow.so")
        self.assertEqual({key for key, count in result.calls.items() if count},
                         {("target_add", "libnow.so"), ("target_negate", "libnow.so")})

    def test_defining_library_of_a_pattern_decides(self):
        result = same("patch_program", "calls", hooks="libown.so:*")
        self.assertEqual(result.called("target_own", "libown.so"), 9)
        self.assertEqual(result.called("own_run", "patch_program"), 1)
        self.assertEqual({key[0] for key in result.calls} - {"target_own", "own_run"}, set())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
