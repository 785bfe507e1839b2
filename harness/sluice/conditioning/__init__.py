"""Bringing a target into the state in which it is measured, and showing that it is there.

gate      the rule, on numbers alone
spec      ``[precondition]`` and ``[steady]`` of a sweep file
purge     emptying a device, or own files
fill      writing the whole target, in slices
driver    all of it for one session, step by step, going on where it stopped
"""
