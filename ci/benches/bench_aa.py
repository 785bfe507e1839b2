"""aa: how often does a report call a change between two identical arms on this machine?"""

import argparse

from . import known_answers

NAME = "aa"
SUMMARY = "a sweep on the model device against itself, 20 times: reports with a false verdict"
BAR = known_answers.Bar(15, at_least=False)

add_arguments = known_answers.add_arguments


def run(args: argparse.Namespace) -> int:
    return known_answers.run(args, [], "with a false verdict", BAR)
