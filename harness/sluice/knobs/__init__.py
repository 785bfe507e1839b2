"""Knobs of the kernel as axes of a sweep: set, read back, and put back whatever happens.

    names     what a knob is called in a sweep file, and which ones a sweep may have
    kernel    the kernel's files, under a root that tests replace
    values    what is written, and whether what is read means the same
    group     a control group for fio
    journal   what was before, on disk before the first write
    undo      putting back, by who set it or by the next start
    session   one sweep's settings, from the first to the last
    preview   which settings can't be, known beforehand

Arrows point down in this list's reverse order: `session` and `preview` use all, `names` nobody.
"""
