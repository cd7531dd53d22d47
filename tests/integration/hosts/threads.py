"""Threads that allocate and free small and large blocks through whatever allocator is preloaded."""
import json
import threading

BLOCKS, KEPT = 20000, 50


def work(number, sums):
    kept, total = {}, 0
    for i in range(BLOCKS):
        kept[i] = bytes((i * number) % 3000 + (100000 if i % 1000 == 0 else 0))
        total += len(kept.pop(i - KEPT, b""))
    sums[number] = total


def main():
    sums = {}
    threads = [threading.Thread(target=work, args=(number, sums)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sorted(sums.items()), len(json.dumps(list(range(100000)))))


if __name__ == "__main__":
    main()
