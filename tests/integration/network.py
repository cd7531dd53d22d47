"""network: hosts as network namespaces on a bridge, whose links can be cut; needs root, and skips the test (77) where it cannot."""
import contextlib
import os
import subprocess
import sys

NAMED = 'hostname "$0" && exec "$@"'
SKIP = 77


def ip(*words):
    subprocess.run(["ip", *words], check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True)


class Network:
    """A namespace HUB with a bridge, and one for each of HOSTS; all gone at the end."""

    def __init__(self, hub, hosts):
        self.prefix = f"hk{os.getpid()}"
        self.hub, self.hosts = hub, list(hosts)
        self.spaces = []

    def __enter__(self):
        try:
            self.add(self.hub)
            ip("-n", self.space(self.hub), "link", "add", "bridge", "type", "bridge")
            ip("-n", self.space(self.hub), "address", "add", f"{self.address(self.hub)}/24", "dev", "bridge")
            ip("-n", self.space(self.hub), "link", "set", "bridge", "up")
            for host in self.hosts:
                self.connect(host)
        except (subprocess.CalledProcessError, FileNotFoundError) as failure:
            self.__exit__()
            print(f"skipped: no network namespaces here: {getattr(failure, 'stderr', '').strip() or failure}")
            sys.exit(SKIP)
        return self

    def __exit__(self, *_):
        for name in self.spaces:
            with contextlib.suppress(subprocess.CalledProcessError):
                ip("netns", "del", name)

    def space(self, host):
        return f"{self.prefix}-{host}"

    def address(self, host):
        return f"10.99.0.{[self.hub, *self.hosts].index(host) + 1}"

    def add(self, host):
        ip("netns", "add", self.space(host))
        self.spaces.append(self.space(host))
        ip("-n", self.space(host), "link", "set", "lo", "up")

    def connect(self, host):
        self.add(host)
        ip("-n", self.space(self.hub), "link", "add", f"to-{host}", "type", "veth", "peer", "eth0", "netns", self.space(host))
        ip("-n", self.space(self.hub), "link", "set", f"to-{host}", "master", "bridge", "up")
        ip("-n", self.space(host), "address", "add", f"{self.address(host)}/24", "dev", "eth0")
        ip("-n", self.space(host), "link", "set", "eth0", "up")

    def words(self, host):
        """What runs a command on HOST."""
        return ["ip", "netns", "exec", self.space(host), "unshare", "--uts", "sh", "-c", NAMED, host]

    def link(self, host, state):
        ip("-n", self.space(self.hub), "link", "set", f"to-{host}", state)
