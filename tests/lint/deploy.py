#!/usr/bin/python3
"""What deploy/ has for other programs parses: YAML, units of systemd. What cannot be checked here is said and passes."""
import configparser
import glob
import shutil
import subprocess
import sys

import yaml

UNIT = {"hookcollector.service": ["--user"], "hookroot.service": []}


def check_yaml(findings):
    for path in sorted(glob.glob("deploy/k8s/*.yaml")):
        with open(path, encoding="utf-8") as stream:
            try:
                parts = list(yaml.safe_load_all(stream))
            except yaml.YAMLError as error:
                findings.append(f"{path}: {error}")
                continue
        findings += [f"{path}: a part without kind or name" for part in parts
                     if not part.get("kind") or not part.get("metadata", {}).get("name")]


def check_units(findings):
    for path in sorted(glob.glob("deploy/systemd/*.service")):
        unit = configparser.ConfigParser(strict=False, interpolation=None)
        unit.optionxform = str
        with open(path, encoding="utf-8") as stream:
            unit.read_string(stream.read().replace("\\\n", " "))
        if "ExecStart" not in unit["Service"] or "WantedBy" not in unit["Install"]:
            findings.append(f"{path}: no ExecStart or no WantedBy")
        if shutil.which("systemd-analyze"):
            done = subprocess.run(["systemd-analyze", "verify", *UNIT.get(path.rsplit("/", 1)[-1], []), path], check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            # That hooktrace is not installed, and that its user is not there, is no fault of the unit.
            findings += [f"{path}: {line}" for line in done.stdout.splitlines() if "Unknown" in line or "Invalid" in line]


def main():
    findings = []
    check_yaml(findings)
    check_units(findings)
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
