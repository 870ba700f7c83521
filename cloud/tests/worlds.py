"""Simulate hunts and print both tables of "What to expect" in docs/guide/hunting.md.

Run it in cloud/ as `.venv/bin/python tests/worlds.py`. It takes some minutes on one core.
"""

from dataclasses import replace
from decimal import Decimal

from tickpath_cloud.hunt import simulate
from tickpath_cloud.hunt.settings import Candidate, Settings

CANDIDATE = Candidate("c6i.large", "on-demand", Decimal("0.085"))
BUDGET, THIRD = Decimal("2.16"), Decimal("0.72")
HUNTS, HUNTS_OF_SPREAD, NAIVE_HUNTS = 60, 40, 200
SPREADS = (0.05, 0.15, 0.30)


def main() -> None:
    asked = Settings(hunt="h", arms=500, candidates=(CANDIDATE,), budget=BUDGET)
    for name, world in simulate.WORLDS.items():
        naive = simulate.naive(BUDGET, CANDIDATE.price, world, NAIVE_HUNTS)
        ours = simulate.expect(asked, world, HUNTS)
        print(
            f"| {name} | {naive.latency_us:.1f} us, {naive.bias:.1%} | **{ours.latency_us:.1f} "
            f"us**, ${ours.cost_mean:.2f} | {ours.bias:.1%} | {ours.coverage:.0%} | "
            f"{ours.claims:.0%}, {ours.wrong:.0%} |  (wrong later {ours.wrong_later:.0%})",
            flush=True,
        )
    for spread in SPREADS:
        world = simulate.World(placements=spread)
        naive = simulate.naive(BUDGET, CANDIDATE.price, world, NAIVE_HUNTS)
        whole = simulate.expect(asked, world, HUNTS_OF_SPREAD)
        third = simulate.expect(replace(asked, budget=THIRD), world, HUNTS_OF_SPREAD)
        print(
            f"| {spread:.0%} | {naive.latency_us:.1f} us | "
            f"{whole.latency_us / naive.latency_us:.2f} of it, {whole.places:.0f} places, "
            f"${whole.cost_mean:.2f} | {third.latency_us / naive.latency_us:.2f} of it, "
            f"{third.places:.0f} places |",
            flush=True,
        )


if __name__ == "__main__":
    main()
