"""Local web pages: a blinded review to fill in, and results to look at.

Every page is served through `guard.Guard` on loopback by `serving.PageServer`.
"""
