"""A shared placement group and a peering between accounts that give each other no rights.

See docs/decisions/018-sharing-without-trust.md.
"""
