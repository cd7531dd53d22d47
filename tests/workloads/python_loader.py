"""A training of one process in steps, as users write it: each step takes a batch, computes for a short time, and marks its end.

    python_loader.py HOW BATCH_MS STEPS

HOW: files (the program reads the parts of each batch itself), queue (two worker processes put batches into a queue), pipe (a forked process
writes them), torch0 and torch2 (a DataLoader of torch, without and with two worker processes). A batch takes BATCH_MS milliseconds of waiting
for a disk that is not there; 0 makes the loader fast. Prints for how many nanoseconds the steps waited for batches, and what all took.
"""
import multiprocessing
import os
import sys
import time

import hooktrace

HOW, BATCH_S, STEPS = sys.argv[1], float(sys.argv[2]) / 1000, int(sys.argv[3])
WORKERS, PARTS, PART, STEP_S = 2, 20, 4096, 0.004


def compute(seconds):
    end, number = time.thread_time() + seconds, 1
    while time.thread_time() < end:
        for _ in range(500):
            number = (number * 31 + 7) % 1_000_003
    return number


def batches_of_files():
    """The parts are in files that slow_disk makes slow."""
    with open("parts.bin", "wb") as parts:
        parts.write(bytes(PARTS * PART))
    for _ in range(STEPS):
        with open("parts.bin", "rb") as parts:
            yield b"".join(os.pread(parts.fileno(), PART, part * PART) for part in range(PARTS))


def work(queue, count):
    for _ in range(count):
        time.sleep(BATCH_S)
        queue.put(bytes(PARTS * PART))


def batches_of_queue():
    queue = multiprocessing.Queue(maxsize=2 * WORKERS)
    workers = [multiprocessing.Process(target=work, args=(queue, STEPS // WORKERS)) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    for _ in range(STEPS // WORKERS * WORKERS):
        yield queue.get(timeout=600)
    for worker in workers:
        worker.join()


def batches_of_pipe():
    source, target = os.pipe()
    if os.fork() == 0:
        os.close(source)
        for _ in range(STEPS * PARTS):
            time.sleep(BATCH_S / PARTS)
            os.write(target, bytes(PART))
        os._exit(0)
    os.close(target)
    for _ in range(STEPS):
        yield b"".join(os.read(source, PART) for _ in range(PARTS))
    os.wait()


def batches_of_torch(workers):
    import torch
    import torch.utils.data

    torch.set_num_threads(1)

    class Images(torch.utils.data.Dataset):
        def __len__(self):
            return STEPS * 4

        def __getitem__(self, index):
            time.sleep(BATCH_S / 4)
            return torch.zeros(3, 64, 64)

    yield from torch.utils.data.DataLoader(Images(), batch_size=4, num_workers=workers)


def main():
    batches = {"files": batches_of_files, "queue": batches_of_queue, "pipe": batches_of_pipe, "torch0": lambda: batches_of_torch(0),
               "torch2": lambda: batches_of_torch(WORKERS)}[HOW]()
    hooktrace.start(quiet=True)
    begin, waited = time.monotonic_ns(), 0
    for step in range(STEPS):
        hooktrace.step(step)
        asked = time.monotonic_ns()
        if next(batches, None) is None:
            break
        waited += time.monotonic_ns() - asked
        compute(STEP_S)
    print(waited, time.monotonic_ns() - begin)


if __name__ == "__main__":
    main()
