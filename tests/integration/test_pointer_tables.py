#!/usr/bin/python3
"""SQLite calls file operations through a table of pointers: all its writes are seen. The kernel counts them, too."""
from harness import expect, expect_true, main


def test(run):
    with open(run.path("sqlite.py"), "w", encoding="ascii") as file:
        file.write("import sqlite3, sys\n"
                   "def written():\n"
                   "    with open('/proc/self/io') as file:\n"
                   "        return int(dict(line.split(': ') for line in file)['syscw'])\n"
                   "before = written()\n"
                   "base = sqlite3.connect(sys.argv[1])\n"
                   "base.execute('create table numbers (number)')\n"
                   "for number in range(50):\n"
                   "    base.execute('insert into numbers values (?)', (number,))\n"
                   "    base.commit()\n"
                   "base.close()\n"
                   "print(written() - before)\n")
    done = run.cli("run", "-q", "--budget", "off", "--store", run.path("sqlite"), "--job", "j", "--", "python3",
                   run.path("sqlite.py"), run.path("numbers.db"))
    calls = run.report(run.path("sqlite", "j"))["calls"]
    seen = sum(row["calls"] for row in calls if row["function"] in ("pwrite64", "pwrite") and row["role"] == "main")
    expect_true(f"writes of SQLite: {done.stdout}", int(done.stdout) > 100)
    expect("writes of SQLite that were seen", seen, int(done.stdout))


if __name__ == "__main__":
    main(test)
