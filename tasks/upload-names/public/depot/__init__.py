"""Depot: a shared folder of documents that keeps every version ever uploaded."""
