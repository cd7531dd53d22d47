"""Watches the overflow flag of an Ascend device, which is simulated (tests/workloads/simdevices). `done` is printed at the end. Arguments: the path
of libascendcl.so, and "new", or "old" if that is without the flag."""
import contextlib
import ctypes
import io
import os
import sys
import types
import warnings

import simulated as toy

import hooktrace.apis as apis
from hooktrace import precision
from hooktrace.compat import ptdbg_ascend

TOY = apis.Framework("simulated", namespaces=("simulated",), tensors=("simulated.Tensor",), layers=(("simulated.nn", "simulated.nn.Module"),))
REFUSED, NO_MEMORY, DEVICE_BYTES = 507015, 207001, 64 << 20
LEFT = "steps without the device's overflow flag: "
acl = None  # the runtime, once it is loaded


def same(what, got, wanted):
    assert got == wanted, f"{what}: {got}, expected {wanted}"


def watched(work, on_find=None):
    """The finds of WORK(watch), the counts, what was said on stderr, and the warnings."""
    finds, said = [], io.StringIO()
    with contextlib.redirect_stderr(said), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with precision.watch(on_find=on_find or finds.append, save=False, frameworks=[TOY]) as watch:
            work(watch)
    same("finds that were told", on_find or finds, on_find or watch.finds)
    return [(find.phase, find.api, find.step, find.path) for find in watch.finds], watch.counts, said.getvalue(), [str(one.message) for one in warned]


def flags(counts):
    return counts["flag_reads"], counts["flags_set"], {reason.replace(LEFT, ""): number for reason, number in counts["left_out"].items()}


def steps_of(overflows, stream=None):
    """Work of a step for each of OVERFLOWS, which has calls whose results are finite."""
    def work(watch):
        for overflow in overflows:
            toy.plus(toy.Tensor([1.0]), toy.Tensor([2.0]))
            if overflow:
                same("sim_acl_overflow", acl.sim_acl_overflow(stream), 0)
            watch.step()
    return work


def without_runtime():
    def work(watch):
        watch.step()
    finds, counts, said, warned = watched(work)
    same("without a runtime", (finds, flags(counts), said, warned), ([], (0, 0, {}), "", []))


def late_runtime():
    """The runtime comes in the first step: the flag's past is not known there, and is in the next."""
    def work(watch):
        global acl
        acl = ctypes.CDLL(sys.argv[1])
        steps_of((True, True))(watch)
    finds, counts, said, _ = watched(work)
    same("a runtime that comes late", (finds, flags(counts)), ([("device", "", 1, None)], (2, 1, {"it was not known when the step began": 1})))
    same("what is said", said, "hooktrace: the device's overflow flag was not read in 1 steps: it was not known when the step began (1)\n")


def found():
    """The flag is a find of its own in its step alone, and what was set before the watch is no matter."""
    acl.sim_acl_overflow(None)
    finds, counts, said, _ = watched(steps_of((False, True, False, True)))
    same("finds", finds, [("device", "", 1, None), ("device", "", 3, None)])
    same("counts", (flags(counts), counts["finds"], said), ((5, 2, {}), 2, ""))
    _, _, _, warned = watched(steps_of((False, True)), on_find="warn")
    same("warnings", warned, ["hooktrace: the device's overflow flag was set in step 1, and no call returned numbers that are not finite"])


def of_streams():
    """Work on a stream ends when something waits for it: the step's work is waited for before the flag is read."""
    stream = ctypes.c_void_p()
    acl.aclrtCreateStream(ctypes.byref(stream))
    same("finds", watched(steps_of((False, True), stream))[0], [("device", "", 1, None)])
    acl.aclrtDestroyStream(stream)


def beside_data():
    """A flag that a call explains is no find of its own, also if its inputs were not finite before."""
    def work(watch):
        for _ in range(2):
            bad = toy.plus(toy.Tensor([3e38]), toy.Tensor([3e38]))
            acl.sim_acl_overflow(None)
            watch.step()
            toy.plus(bad, bad)
            acl.sim_acl_overflow(None)
            watch.step()
    finds, counts, _, _ = watched(work)
    same("finds", finds, [("forward", "simulated.plus", 0, None), ("forward", "simulated.plus", 2, None)])
    same("counts", (flags(counts), counts["inherited"]), ((5, 4, {}), 2))


def raises():
    """step() raises as a call would; the end of the watch does not."""
    def work(watch):
        try:
            steps_of((True,))(watch)
        except ValueError as error:
            same("the error", str(error), "[overflow 1 times]: no values are saved.")
        else:
            raise AssertionError("a flag did not raise")
        steps_of((False,))(watch)
        acl.sim_acl_overflow(None)
    finds, _, _, warned = watched(work, on_find="raise")
    same("finds", (finds, len(warned)), ([("device", "", 0, None), ("device", "", 2, None)], 2))


def refused():
    """A runtime that refuses is passed over, in each step, and asked again in the next."""
    def work(watch):
        steps_of((True,))(watch)
        acl.sim_acl_refuse_overflow(REFUSED)
        steps_of((True, True))(watch)
        acl.sim_acl_refuse_overflow(0)
        steps_of((False, True))(watch)
    finds, counts, said, _ = watched(work)
    reason = f"aclrtGetOverflowStatus returned {REFUSED}"
    same("finds", finds, [("device", "", 0, None), ("device", "", 4, None)])
    same("counts", flags(counts), (3, 2, {reason: 2, "it was not known when the step began": 1}))
    same("what is said", said, "hooktrace: the device's overflow flag was not read in 3 steps: "
                               f"{reason} (2), it was not known when the step began (1)\n")


def infinities():
    acl.sim_acl_set_overflow_mode(1)
    finds, counts, _, _ = watched(steps_of((True,)))
    acl.sim_acl_set_overflow_mode(0)
    same("on a device that makes Inf", (finds, flags(counts)), ([], (0, 0, {"the device makes Inf of what overflows, which the data shows": 2})))


def memory():
    """A device without memory is passed over, and what was taken is given back."""
    block = ctypes.c_void_p()
    same("all memory", acl.aclrtMalloc(ctypes.byref(block), ctypes.c_size_t(DEVICE_BYTES), 0), 0)
    finds, counts, _, _ = watched(steps_of((True,)))
    acl.aclrtFree(block)
    same("without memory", (finds, flags(counts)), ([], (0, 0, {f"aclrtMalloc returned {NO_MEMORY}": 2})))


class Npu:
    """Simulated: what torch_npu adds to torch. Its work is queued on the host, too."""

    def __init__(self, error=None, capturing=False):
        self.stream, self.error, self.capturing = ctypes.c_void_p(), error, capturing
        self.queued = []
        acl.aclrtCreateStream(ctypes.byref(self.stream))

    def is_initialized(self):
        return True

    def is_current_stream_capturing(self):
        return self.capturing

    def synchronize(self):
        while self.queued:
            self.queued.pop()()
        acl.aclrtSynchronizeDevice()

    def current_stream(self):
        if self.error:
            raise self.error
        return types.SimpleNamespace(npu_stream=self.stream.value)


def with_torch_npu(npu):
    """The finds and flags where NPU queues what overflows in the second step."""
    def work(watch):
        watch.step()
        npu.queued.append(lambda: acl.sim_acl_overflow(npu.stream))
        watch.step()
    sys.modules["torch"] = types.ModuleType("torch")
    sys.modules["torch"].npu = npu
    finds, counts, _, _ = watched(work)
    del sys.modules["torch"]
    acl.aclrtDestroyStream(npu.stream)
    return [find[:3] for find in finds], flags(counts)


def torch_npu():
    same("on torch_npu's stream", with_torch_npu(Npu()), ([("device", "", 1)], (3, 1, {})))
    same("without a stream", with_torch_npu(Npu(RuntimeError("none"))), ([], (0, 0, {"torch_npu gave no stream (RuntimeError)": 3})))
    same("in a capture", with_torch_npu(Npu(capturing=True)), ([], (0, 0, {"the stream was being captured": 3})))


def scaled():
    """Simulated: scalers of torch and of torch_npu. That a scaled step overflows is normal."""
    def scaler_in(name):
        class GradScaler:
            def scale(self, loss):
                return loss

            def unscale_(self, optimizer):
                pass

            def step(self, optimizer):
                pass

            def update(self):
                pass

            def is_enabled(self):
                return True
        module = sys.modules[name] = types.ModuleType(name)
        module.GradScaler = GradScaler
        return GradScaler()
    names = ("torch.amp.grad_scaler", "torch_npu.npu.amp.grad_scaler")
    scalers = [scaler_in(name) for name in names]

    def work(watch):
        for scaler in scalers:
            scaler.scale(1)
            acl.sim_acl_overflow(None)
            scaler.step(None)
            watch.step()
        steps_of((True,))(watch)
    finds, counts, _, _ = watched(work)
    for name in names:
        del sys.modules[name]
    same("with a scaler", (finds, counts["loss_scale_steps"], flags(counts)), ([("device", "", 2, None)], 2, (4, 3, {})))


def forked():
    """A forked process does not touch the device of its parent."""
    def work(watch):
        acl.sim_acl_overflow(None)
        child = os.fork()
        if child == 0:
            watch.step()
            watch.stop()
            os._exit(watch.counts["flag_reads"] + len(watch.finds))
        same("the child", os.waitpid(child, 0)[1], 0)
        watch.step()
    same("finds of the parent", watched(work)[0], [("device", "", 0, None)])


def by_ptdbg_names():
    """ptdbg_ascend's watch has one step, and says the flag at its end."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        overflows = ptdbg_ascend._Overflows(toy.nn.Twice(), 1)
        acl.sim_acl_overflow(None)
        overflows._end()
    same("what is said", said.getvalue().partition("]")[2], "[overflow 1 times]: the device's overflow flag was set in step 0.\n")
    same("whether a file is written", os.path.exists(overflows.path), False)


def old():
    global acl
    acl = ctypes.CDLL(sys.argv[1])
    finds, counts, said, _ = watched(lambda watch: [watch.step() for _ in range(3)])
    reason = "the ACL runtime has no aclrtGetOverflowStatus"
    same("with an old runtime", (finds, flags(counts)), ([], (0, 0, {reason: 4})))
    same("what is said", said, f"hooktrace: the device's overflow flag was not read in 4 steps: {reason} (4)\n")


def main():
    cases = (without_runtime, late_runtime, found, of_streams, beside_data, raises, refused, infinities, memory, torch_npu, scaled, forked,
             by_ptdbg_names, found)
    for case in cases if sys.argv[2] == "new" else (without_runtime, old):
        case()
    print("done")


if __name__ == "__main__":
    main()
