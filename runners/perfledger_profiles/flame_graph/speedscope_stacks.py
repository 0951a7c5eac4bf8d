"""Writes the stacks of two steps as two profiles of one speedscope file.

The format is https://www.speedscope.app/file-format-schema.json: a sample is a list of frames,
outermost first, with a weight.
"""

import json

from perfledger.profile import Profile
from perfledger_profiles.export.speedscope import SCHEMA
from perfledger_profiles.flame_graph.frame_tree import stacks_of
from perfledger_profiles.parsing.safe_names import clean_name


def speedscope_stacks(base: Profile, head: Profile, *, name: str) -> str:
    """Return speedscope's JSON: the mean step of base and that of head, in seconds."""
    frames: dict[str, int] = {}
    profiles = [_sampled_profile(str(one.side), one, frames) for one in (base, head)]
    document = {
        "$schema": SCHEMA,
        "exporter": "perfledger",
        "name": clean_name(name),
        "activeProfileIndex": 1,
        "shared": {"frames": [{"name": one} for one in frames]},
        "profiles": profiles,
    }
    return f"{json.dumps(document)}\n"


def _sampled_profile(title: str, profile: Profile, frames: dict[str, int]) -> dict[str, object]:
    """Return a step's profile; add the names of its frames and their places to `frames`."""
    samples: list[list[int]] = []
    weights: list[float] = []
    for stack in stacks_of(profile):
        names = map(clean_name, stack.names)
        samples.append([frames.setdefault(name, len(frames)) for name in names])
        weights.append(stack.seconds)
    return {
        "type": "sampled",
        "name": f"{title}: {_content(profile)}",
        "unit": "seconds",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": samples,
        "weights": weights,
    }


def _content(profile: Profile) -> str:
    if not profile.has_steps:
        return "the whole recording"
    return f"mean of {profile.steps} profiled step{'s' * (profile.steps != 1)}"
