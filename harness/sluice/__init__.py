"""sluice: plan, run, keep and report sweeps of fio jobs.

The package has two halves that meet in :mod:`sluice.model`. The run side (`sweep`, `plan`,
`executor`, `store` ...) fills a store folder; the report side (`report`) only reads
:class:`sluice.model.Results` and never runs a process.
"""

__version__ = "0.1.0"
