"""From the results of sweeps to verdicts: which cell is held against which, and what follows.

    family      every cell of a campaign against the default      comparisons of one campaign
    across      two campaigns, or two arms of one                 `sluice compare`
    gate        an exit code, with known differences left out     `sluice gate`, `sluice ack`
    confirm     the best value measured again in fresh blocks     `sluice confirm`
    observe     figures of runs as log ratios, or why there are none
    standing    what rules out verdicts on a whole campaign

The judging itself is in `sluice.stats`. Nothing here runs a process.
"""
