"""Does the harness tell the truth on this machine? Sweeps of which the answer is known beforehand.

An *A/A* sweep has two identical arms, interleaved as real ones are: every change that its report
calls is false. An *injected* sweep has one arm that is slower by a known amount: a report that
doesn't call it has missed it. Both are run over and over, judged as any report is, and counted; the
counts are kept in the store and stand at the head of later reports from this machine.

    arms        a sweep against itself          record      what is kept, and its rates
    session     running and judging             cli         the verb
"""
