"""The items: generators of instances, their deterministic checks, and policies that prove them."""
