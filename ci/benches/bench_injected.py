"""injected: how often does a report find a device that is 5 % slower?"""

import argparse

from . import known_answers

NAME = "injected"
SUMMARY = "a sweep with one arm 5 % slower (delay_percent), 20 times: reports that find it"
BAR = known_answers.Bar(90, at_least=True)

add_arguments = known_answers.add_arguments


def run(args: argparse.Namespace) -> int:
    return known_answers.run(args, ["--injected"], "that found the slower arm", BAR)
