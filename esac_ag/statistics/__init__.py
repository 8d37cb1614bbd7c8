"""Pure statistics of paired studies; the task is the unit. See docs/statistics.md.

`estimates` holds the records of results and needs no numpy; `aggregate`, `pairs`, `bootstrap`, `bayesian`,
`sign_flip` and `comparison` compute a comparison; `sensitivity` puts together what it rests on
(`equivalence`, `leave_one_out`, `hierarchical`, `attainable`, `attrition`, `holm`); `crossed` is for designs
of runs and shared blocks; `simulation`, `power` and `calibration` plan studies. Draws come from `resampling`.
"""
