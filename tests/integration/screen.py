"""screen: a program on a terminal of its own, by tmux: what a person would see of it, and keys."""
import contextlib
import shlex
import subprocess
import time

from harness import TIMEOUT, Failure, wait_for

AFTER = "left with"  # and its exit status: what the terminal says once the program has ended


class Screen:
    """COMMAND, a list of words, in a terminal of COLUMNS by LINES. Nothing of the user's tmux is touched: it has a socket of its own."""

    def __init__(self, run, command, columns=80, lines=24, **environment):
        self.run = run
        Screen.count = getattr(Screen, "count", 0) + 1
        self.socket = f"{run.run_directory}/tmux-{Screen.count}"
        # What the test's own environment says of colours and letters is not the program's.
        words = ["env", "-u", "NO_COLOR", "-u", "LC_ALL", "LANG=C.UTF-8",
                 *(f"{key}={value}" for key, value in environment.items()), *map(str, command)]
        self.settings = f"settings-{Screen.count}-before", f"settings-{Screen.count}-after"
        script = f"trap : INT; stty -g >{self.settings[0]}; {shlex.join(words)}; echo {AFTER} $?; stty -g >{self.settings[1]}; exec cat"
        self.tmux("new-session", "-d", "-x", str(columns), "-y", str(lines), "sh", "-c", script)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(Failure):
            self.tmux("kill-server")

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-u", "-S", self.socket, "-f", "/dev/null", *words], env=self.run.environment(LC_ALL="C.UTF-8"),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT,
                              check=False, cwd=self.run.directory)
        if done.returncode != 0:
            raise Failure(f"tmux {words}: {done.stderr}")
        return done.stdout

    def text(self):
        """What is shown, without blanks at the ends of lines."""
        return "\n".join(line.rstrip() for line in self.tmux("capture-pane", "-p").split("\n")).rstrip("\n") + "\n"

    def codes(self):
        """The same with the codes of colours and attributes."""
        return self.tmux("capture-pane", "-p", "-e")

    def mode(self, name):
        """A state of the terminal: alternate_on, cursor_flag, mouse_any_flag."""
        return self.tmux("display-message", "-p", "#{" + name + "}").strip()

    def press(self, *keys):
        """KEYS as tmux calls them: Enter, Down, C-c; others are typed as they are."""
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def click(self, column, line, button=0):
        """BUTTON: 0 the left one, 64 and 65 the wheel up and down; place from 0."""
        for code in [button] if button >= 64 else [button, 3]:  # pressed, let go
            self.tmux("send-keys", "-H", *(f"{byte:x}" for byte in b"\033[M" + bytes([32 + code, 33 + column, 33 + line])))

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def wait(self, what, condition):
        """Waits until CONDITION holds of the text; returns that."""
        seen = [""]

        def look():
            seen[0] = self.text()
            return condition(seen[0])
        try:
            wait_for(what, look)
        except Failure as failure:
            raise Failure(f"{failure}; there is:\n{seen[0]}") from None
        return seen[0]

    def soon(self, condition):
        """Whether CONDITION holds within the next half second, or so."""
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            if condition(self.text()):
                return True
        return False

    def wait_text(self, text):
        return self.wait(f"{text!r} on the screen", lambda shown: text in shown)

    def wait_left(self, status):
        """The program has left with STATUS, and the terminal is as it was before."""
        text = self.wait_text(f"{AFTER} {status}")
        for mode, wanted in ("alternate_on", "0"), ("cursor_flag", "1"), ("mouse_any_flag", "0"), ("keypad_cursor_flag", "0"):
            if self.mode(mode) != wanted:
                raise Failure(f"{mode} is {self.mode(mode)} after the program has left")
        wait_for("the terminal's settings", lambda: self.run.command("cat", self.settings[1], check=False).stdout.endswith("\n"))
        before, after = (self.run.command("cat", name).stdout for name in self.settings)
        if before != after:
            raise Failure(f"the terminal's settings were {before}, are {after}")
        return text
