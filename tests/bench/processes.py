"""processes: what running processes take."""
import os


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as numbers:
        return [int(number) for number in numbers.read().split()]


def cpu_s(pid):
    """Processor time so far."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def status_mib(pid, name):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(f"{name}:")) / 1024


def memory_mib(pid):
    return status_mib(pid, "VmRSS")


def peak_mib(pid):
    """Most memory so far."""
    return status_mib(pid, "VmHWM")


def written_bytes(pid):
    """To disks, so far."""
    with open(f"/proc/{pid}/io", encoding="ascii") as counts:
        return next(int(line.split()[1]) for line in counts if line.startswith("write_bytes:"))
