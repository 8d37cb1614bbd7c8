"""The report of a study: one view computed once, then Markdown, JSON and CSV from it.

`inputs` is what the caller reads from the study's folder, `view` the records (they need no numpy),
`build` computes the view, `markdown`, `machine` and `esac_ag.cli.report_rendering` show it.
"""
