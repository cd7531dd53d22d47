#!/usr/bin/python3
"""What deploy/prometheus has is valid: configurations, rules and their tests, the dashboard; and names only metrics that there are."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

PLACE = "deploy/prometheus"
TABLE = "collector/metrics/table.h"
# What Grafana puts in the place of its variables.
VARIABLES = {"$__rate_interval": "1m", "$__range": "1h", "$hook_job": ".*", "$domain": ".*"}
ENDINGS = {"COUNTER": ("_total",), "INFO": ("_info",), "GAUGE": ("",), "HISTOGRAM": ("_bucket", "_sum", "_count")}


def promtool(findings, *words):
    done = subprocess.run(["promtool", *words], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        findings.append(f"promtool {' '.join(words)}:\n{done.stdout}")


def known_metrics():
    with open(TABLE, encoding="utf-8") as table:
        entries = re.findall(r'X\(\w+, "(hook_\w+)", (\w+),', table.read())
    return {name + ending for name, kind in entries for ending in ENDINGS[kind]} | {"hook_build_info"}


def expressions(dashboard):
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def check_dashboard(findings):
    with open(f"{PLACE}/grafana-dashboard.json", encoding="utf-8") as file:
        dashboard = json.load(file)
    identifiers = [panel["id"] for panel in dashboard["panels"]]
    if len(set(identifiers)) != len(identifiers):
        findings.append("two panels of one id")
    rules = []
    for title, text in expressions(dashboard):
        for variable, value in VARIABLES.items():
            text = text.replace(variable, value)
        if "$" in text:
            findings.append(f"panel '{title}': a variable that nobody sets: {text}")
        rules.append({"record": "panel", "labels": {"title": title}, "expr": text})
    with tempfile.TemporaryDirectory(prefix="hk-lint-") as place:
        # JSON is YAML as well.
        path = os.path.join(place, "panels.yml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"groups": [{"name": "panels", "rules": rules}]}, file)
        promtool(findings, "check", "rules", path)


def check_names(findings):
    known = known_metrics()
    if len(known) < 30:
        findings.append(f"{TABLE}: only {len(known)} metrics found")
    for name in ("grafana-dashboard.json", "hooktrace.rules.yml", "hooktrace.tests.yml"):
        with open(f"{PLACE}/{name}", encoding="utf-8") as file:
            used = set(re.findall(r"(?<![\w:])hook_[a-z_]+(?=[{\[ )\"]|$)(?!:)", file.read(), re.MULTILINE))
        labels = {"hook_job"}
        findings += [f"{PLACE}/{name}: there is no {metric}" for metric in sorted(used - known - labels)]


def main():
    findings = []
    check_names(findings)
    if shutil.which("promtool"):
        promtool(findings, "check", "config", f"{PLACE}/prometheus.yml")
        promtool(findings, "check", "config", "--syntax-only", f"{PLACE}/prometheus-nodes.yml")
        promtool(findings, "test", "rules", f"{PLACE}/hooktrace.tests.yml")
        check_dashboard(findings)
    else:
        findings.append("promtool is missing: Debian's package prometheus")
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
