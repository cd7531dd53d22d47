#!/usr/bin/python3
"""The files of deploy/ for containers, pods, units and prologs name what an installation has: programs, the agent, options, keys.

The truth is the tree that `cmake --install` writes, `hookcollector --help`, what keygen makes, and dpkg-shlibdeps.
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
# The Dockerfile configures without a prefix, and its base image is what every Debian has.
PREFIX = "/usr/local"
IMAGE = "hooktrace"
PATHS = re.compile(r"/usr/(?:local/)?(?:bin|lib\w*)/[\w./-]*hook[\w./-]*")


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
        elif word.startswith("/usr/"):
            expect_true(f"{container['name']}: {word} is in the image", tree.has(word))


def check_preload(tree, spec):
    """The path in LD_PRELOAD is where the init container copies the agent, of which the image's path is right."""
    copied = set()
    for container in spec.get("initContainers", []):
        program, source, target = container["command"]
        expect("what the init container runs", (program, source), ("cp", tree.library()))
        volume, inside = mount_of(container, os.path.join(target, os.path.basename(source)))
        copied.add((volume, inside))
    for container in spec["containers"]:
        for variable in container.get("env", []):
            if variable["name"] == "LD_PRELOAD":
                expect_true(f"LD_PRELOAD={variable['value']} is copied there", mount_of(container, variable["value"]) in copied)
            elif variable["name"] == "HOOK_RUN_DIR":
                # A volume's own directory belongs to root and is open to all, which agent and collector refuse.
                expect_true(f"{variable['value']} is below a volume", mount_of(container, variable["value"])[1] != ".")


def check_dockerfile(run, tree):
    """The image has the packages that the programs in it need."""
    text = read("container", "Dockerfile").replace("\\\n", " ")
    wanted = set(re.search(r"--no-install-recommends ([\w .+-]+)", text).group(1).split())
    with_depends = set(wanted)
    for package in wanted:
        depends = run.command("dpkg-query", "-W", "-f=${Depends}", package).stdout
        with_depends.update(re.findall(r"(?:^|, )([\w.+-]+)", depends))
    os.makedirs(run.path("shlibs", "debian"))
    with open(run.path("shlibs", "debian", "control"), "w", encoding="utf-8") as control:
        control.write("Source: hooktrace\n\nPackage: hooktrace\nArchitecture: any\n")
    programs = [tree.program(name) for name in ("hookcli", "hookcollector")] + [tree.root + tree.library()]
    done = run.command("dpkg-shlibdeps", "-O", *(f"-e{path}" for path in programs), cwd=run.path("shlibs"))
    needed = set(re.findall(r"([\w.+-]+)(?: \([^)]*\))?(?:,|$)", done.stdout.strip().split("=", 1)[1]))
    expect("packages that the image lacks", needed - with_depends, set())


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
    image, package = Tree(run, PREFIX), Tree(run, "/usr")
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
    check_dockerfile(run, image)
    check_units(run)
    check_task_prolog((image, package))
    line = run.cli("env", "k8s").stdout
    expect("the run directory of `hookcli env k8s` is below its volume", re.findall(r"/run/hooktrace\S*", line),
           ["/run/hooktrace/user", "/run/hooktrace}"])


if __name__ == "__main__":
    main(test)
