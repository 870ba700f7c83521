"""A strict fake of the parts of AWS that a hunt uses: moto, plus what moto lacks.

For tests and for `make demo-cloud`. Talked to with the real SDK over HTTP.
"""
