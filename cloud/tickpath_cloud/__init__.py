"""The control plane of tickpath: where to stand in the cloud, and what it costs to find out."""

__version__ = "0.1.0"
