"""The control plane of tickpath: where to stand in the cloud, and what it costs to find out."""

import os

# Matrices of a hunt have some dozen rows: numpy's threads wait for each other longer than they
# compute. Before numpy is imported, or it has no effect.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

__version__ = "0.1.0"
