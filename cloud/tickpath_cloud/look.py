"""How pages look: paper and ink, light and dark as the reader's system asks."""

PALETTE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1b1b; --quiet: #5c5c5c; --rule: #d5d5d5;
  --shade: #f5f5f3; --blue: #2f5fae; --green: #00664b; --bad: #b3261e; }
@media screen and (prefers-color-scheme: dark) { :root { --paper: #141517; --ink: #e4e3df;
  --quiet: #a09f9a; --rule: #3a3b3e; --shade: #1d1f22; --blue: #8ab4f8; --green: #5cc8a2;
  --bad: #ff8a80; } }
"""

# For reports of text and drawings.
STYLE = f"""{PALETTE}
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; padding: 0 1rem; color: var(--ink);
  background: var(--paper); }}
pre {{ background: var(--shade); padding: .8rem; overflow-x: auto; }}
svg text {{ font: 12px system-ui, sans-serif; fill: var(--ink); }}
"""
