#!/usr/bin/python3
"""The files of deploy/ for containers, pods, units and prologs name what an installation has: programs, the agent, options, keys.

The truth is the tree that `cmake --install` writes, `hookcollector --help`, and what keygen makes. That the bundle, which is what
the image has, is that tree: test_bundle.
"""
import glob
import os
import re
import shlex
import subprocess

import yaml

from harness import Run, expect, expect_true, main

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEPLOY = os.path.join(SOURCE, "deploy")
PREFIX = "/opt/hooktrace"
IMAGE = "hooktrace"
PATHS = re.compile(r"(?:/usr/(?:local/)?(?:bin|lib\w*)/[\w./-]*hook[\w./-]*|/opt/hooktrace[\w./-]*)")


def read(*parts):
    with open(os.path.join(DEPLOY, *parts), encoding="utf-8") as stream:
        return stream.read()


class Tree:
    """What an installation with PREFIX has."""

    def __init__(self, run, prefix):
        self.root = run.path("root" + prefix.replace("/", "-"))
        run.command("cmake", "--install", run.build, "--prefix", prefix, env={"DESTDIR": self.root})
        self.prefix = prefix

    def has(self, path):
        return os.path.exists(self.root + path)

    def program(self, name):
        """The path of what a container runs as NAME: a path, or found as the image's PATH finds it."""
        return self.root + (name if name.startswith("/") else f"{self.prefix}/bin/{name}")

    def library(self):
        found = glob.glob(self.root + "/**/libhookagent.so", recursive=True)
        expect("agents installed", len(found), 1)
        return found[0][len(self.root):]


def check_options(run, where, command):
    """Options of hookcollector are of its --help."""
    known = set(re.findall(r"--[a-z-]+", run.command(run.binary("hookcollector"), "--help").stdout))
    expect(f"{where}: options that hookcollector does not have", {word for word in command if word.startswith("--")} - known, set())


def check_paths(tree, files):
    for name in files:
        for path in PATHS.findall(read(name)):
            expect_true(f"{name} names {path}, which an installation in {tree.prefix} does not have", tree.has(path))


def pods(name):
    for part in yaml.safe_load_all(read(name)):
        spec = part["spec"].get("template", part).get("spec", {}) if part["kind"] != "Service" else {}
        if "containers" in spec:
            claims = [claim["metadata"]["name"] for claim in part["spec"].get("volumeClaimTemplates", [])]
            yield spec, {volume["name"] for volume in spec["volumes"]} | set(claims)


def mount_of(container, path):
    """The volume that PATH lies in, and the path in the volume."""
    mounts = [mount for mount in container["volumeMounts"] if path.startswith(mount["mountPath"].rstrip("/") + "/")]
    expect(f"mounts of {path} in {container['name']}", len(mounts), 1)
    return mounts[0]["name"], os.path.relpath(path, mounts[0]["mountPath"])


def check_container(run, tree, container, volumes, keys):
    """Its volumes are defined, its program and options exist, and what it reads of a secret is made by keygen."""
    expect("volumes that are mounted but not defined", {mount["name"] for mount in container["volumeMounts"]} - volumes, set())
    if container["image"] != IMAGE:
        return
    command = container["command"]
    if "hook" in command[0]:
        expect_true(f"{command[0]} is in the image", os.access(tree.program(command[0]), os.X_OK))
        check_options(run, container["name"], command)
    for word in command:
        if word.startswith("/keys/"):
            expect_true(f"keygen makes {os.path.basename(word)}", os.path.basename(word) in keys)
        elif word.startswith(("/usr/", "/opt/")):
            expect_true(f"{container['name']}: {word} is in the image", tree.has(word))


def check_preload(tree, spec):
    """The path in LD_PRELOAD is where the init container's copy of the bundle has the agent."""
    copied = {}
    for container in spec.get("initContainers", []):
        program, option, source, target = container["command"]
        expect("what the init container runs", (program, option, source), ("cp", "-R", f"{tree.prefix}/."))
        volume, inside = mount_of(container, target + ".")
        copied[volume] = inside
    for container in spec["containers"]:
        for variable in container.get("env", []):
            if variable["name"] in ("LD_PRELOAD", "NCCL_PROFILER_PLUGIN"):
                volume, inside = mount_of(container, variable["value"])
                expect_true(f"{variable['name']}={variable['value']} is below what is copied", copied.get(volume) == ".")
                expect("the agent in the volume", f"{tree.prefix}/{inside}", tree.library())
            elif variable["name"] == "HOOK_RUN_DIR":
                # A volume's own directory belongs to root and is open to all, which agent and collector refuse.
                expect_true(f"{variable['value']} is below a volume", mount_of(container, variable["value"])[1] != ".")


def check_dockerfile():
    """The image has the bundle where the manifests expect it, its programs in PATH, and nothing else of the build's."""
    text = read("container", "Dockerfile").replace("\\\n", " ")
    last = text[text.rindex("FROM "):].splitlines()
    expect("what the image copies", [line for line in last if line.startswith("COPY ")], [f"COPY --from=build {PREFIX} {PREFIX}"])
    expect_true("programs are found", any(re.match(rf"ENV PATH={PREFIX}/bin\b", line) for line in last))
    for script in re.findall(r"/source/(deploy/\S+\.sh)", text):
        expect_true(f"{script} can be run", os.access(os.path.join(SOURCE, script), os.X_OK))


def check_units(run):
    for path in glob.glob(os.path.join(DEPLOY, "systemd", "*.service")):
        with open(path, encoding="utf-8") as stream:
            line = re.search(r"^ExecStart=(.*)$", stream.read().replace("\\\n", " "), re.MULTILINE).group(1)
        command = shlex.split(line)
        # No path: systemd looks into /usr/local/bin and /usr/bin, so that one unit serves both prefixes.
        expect(f"{os.path.basename(path)} starts", command[0], "hookcollector")
        check_options(run, path, command)


def check_task_prolog(trees):
    """What Slurm's task prolog preloads exists, wherever hooktrace is installed."""
    for tree in trees:
        script = read("slurm", "task-prolog.sh").replace("/usr/", f"{tree.root}/usr/")
        done = subprocess.run(["sh", "-c", script], check=True, stdout=subprocess.PIPE, text=True, env={"HOOKTRACE": "1"})
        expect("task-prolog.sh", done.stdout, f"export LD_PRELOAD={tree.root}{tree.library()}\n")


def test(run: Run):
    image, local, package = (Tree(run, prefix) for prefix in (PREFIX, "/usr/local", "/usr"))
    run.command(run.binary("hookcollector"), "keygen", run.path("keys"))
    keys = set(os.listdir(run.path("keys")))
    seen = 0
    for path in sorted(glob.glob(os.path.join(DEPLOY, "k8s", "*.yaml"))):
        for spec, volumes in pods(path):
            seen += 1
            for container in spec["containers"] + spec.get("initContainers", []):
                check_container(run, image, container, volumes, keys)
            check_preload(image, spec)
    expect("pods", seen, 2)
    check_paths(image, ("container/Dockerfile", "container/README.md", "k8s/README.md", "k8s/root.yaml", "k8s/sidecar.yaml"))
    check_dockerfile()
    check_units(run)
    check_task_prolog((local, package))
    line = run.cli("env", "k8s").stdout
    expect("the run directory of `hookcli env k8s` is below its volume", re.findall(r"/run/hooktrace\S*", line),
           ["/run/hooktrace/user", "/run/hooktrace}"])


if __name__ == "__main__":
    main(test)
