"""Reads a dashboard by Grafana's own model of one, and holds what that writes again against the file: nothing is lost."""

import json
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard


# What Prometheus alone has in an annotation, which the model leaves to it.
OF_PROMETHEUS = {"expr", "step", "titleFormat", "textFormat", "tagKeys", "useValueForTime"}


def is_kept(before, after, place):
    """Each value of the file is in what is written; a default that is added is no loss."""
    if isinstance(before, dict):
        assert isinstance(after, dict), (place, before, after)
        for key, value in before.items():
            if place.startswith("dashboard.annotations.") and key in OF_PROMETHEUS:
                continue
            assert key in after, f"{place}.{key} is unknown"
            is_kept(value, after[key], f"{place}.{key}")
    elif isinstance(before, list):
        assert isinstance(after, list) and len(before) == len(after), (place, before, after)
        for number, (one, other) in enumerate(zip(before, after)):
            is_kept(one, other, f"{place}[{number}]")
    else:
        assert before == after, (place, before, after)


register_default_plugins()
with open(sys.argv[1], encoding="utf-8") as file:
    before = json.load(file)
after = json.loads(JSONEncoder(sort_keys=True).encode(Dashboard.from_json(before)))
is_kept(before, after, "dashboard")
print(len(after["panels"]), "panels")
