"""Reading what lies in the workspace: trees, bundles, task packages, graders and manifests.

The only place that reads those folders. It decides nothing: what a file means is judged in
`esac_ag.manifest`.
"""
