"""scrape: a collector's metrics as a scraper gets them."""
import http.client
import json
import ssl
import urllib.parse

from harness import TIMEOUT, expect, expect_true
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

OPENMETRICS = {"Accept": "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"}
FIRST_BOUND = 128e-9


def url_of(node):
    """Where NODE's collector shows them, with the port it got."""
    return json.loads(node.cli("status", "--json").stdout)["http"]


def get(url, headers=None, method="GET", authorities=None, shown=None):
    """The answer to one request, with `text`: its body. AUTHORITIES: trusted signers of the certificate, by name `hooktrace`; SHOWN: our
    own certificate and key.
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "https":
        context = ssl.create_default_context(cafile=authorities)
        # As `server_name: hooktrace` would in Prometheus's tls_config: the certificate is bound to no address.
        context.check_hostname = False
        if shown:
            context.load_cert_chain(*shown)
        connection = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=TIMEOUT, context=context)
    else:
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=TIMEOUT)
    connection.request(method, parts.path, headers=headers or {})
    answer = connection.getresponse()
    answer.text = answer.read().decode()
    connection.close()
    return answer


class Page:
    """The samples of a page, by name and labels."""

    def __init__(self, answer):
        expect("status of a scrape", answer.status, 200)
        openmetrics = answer.headers["Content-Type"].startswith("application/openmetrics-text")
        parse = parse_openmetrics if openmetrics else parse_text
        self.text = answer.text
        self.samples, self.types = {}, {}
        for family in parse(answer.text):
            for sample in family.samples:
                key = sample.name, frozenset(sample.labels.items())
                expect_true(f"two samples of {key}", key not in self.samples)
                self.samples[key] = sample.value
                self.types[sample.name] = family.type

    def find(self, name, **labels):
        """{labels: value} of the samples of NAME that have LABELS."""
        return {key[1]: value for key, value in self.samples.items() if key[0] == name and key[1] >= frozenset(labels.items())}

    def value(self, name, **labels):
        found = list(self.find(name, **labels).values())
        expect(f"samples of {name} with {labels}", len(found), 1)
        return found[0]

    def counters(self, job):
        return {key: value for key, value in self.samples.items()
                if self.types[key[0]] in ("counter", "histogram") and dict(key[1]).get("hook_job") == job}


def scrape(url, headers=None, **options):
    return Page(get(url, headers, **options))


def bounds_around(duration):
    """The bounds between which DURATION, in s, lies, or may lie: quantiles of a report are the middle of a narrow bucket."""
    upper = FIRST_BOUND
    while upper < duration * (1 - 1 / 64):
        upper *= 2
    most = upper
    while most < duration * (1 + 1 / 64):
        most *= 2
    return (0 if upper == FIRST_BOUND else upper / 2), most
