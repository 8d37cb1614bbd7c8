"""Pure statistics of paired studies; the task is the unit. See docs/statistics.md.

`estimates` holds the records of results and needs no numpy; `aggregate`, `pairs`, `bootstrap`,
`sign_flip` and `comparison` compute them.
"""
