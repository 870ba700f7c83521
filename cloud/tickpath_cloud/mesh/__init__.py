"""Round trips between every two hosts of an inventory: what lies near to what."""
