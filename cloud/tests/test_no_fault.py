"""Each verb as it is typed, while every call to AWS fails: an error with a reason, never a fault.

The codes are one that the SDK and we repeat, an answer without XML, and two that no table has.
"""

import pytest
from conftest import Hunt, use
from test_share import RECEIVER
from test_share_command import said, two  # noqa: F401
from test_tools import HUNT

from fake_aws.server import NO_XML
from tickpath_cloud import cli

CODES = {
    NO_XML: "AWS answered what can't be read", "EC2ThrottledException": "(EC2ThrottledException)",
    "SomethingNew": "(SomethingNew)", "LimitExceededException": "a quota of this account",
}  # fmt: skip
REGION = "--region eu-west-1"
SETS = "--set Image=ami-1 --set Zone=a --set SecondZone=b"
VERBS = [
    "hunt hunt.toml", "hunt hunt.toml --apply", "hunt --resume hunt", "matrix matrix.toml",
    "matrix matrix.toml --apply", "destroy hunt --apply", f"sweep {REGION}",
    f"sweep {REGION} --apply", f"tiers check i-1 10.0.0.1 {REGION}",
    f"tiers deploy exchange x {REGION} --budget 9 {SETS} --apply", f"tiers stacks {REGION}",
    f"tiers destroy x {REGION} --apply", f"tiers members x {REGION}",
    f"tiers accept x {REGION} --account 222222222222 --apply",
    f"share grant --to {RECEIVER} --apply", "share list", "share reconcile --apply",
    f"share revoke {RECEIVER} --apply", "share destroy --apply",
    f"share accept {RECEIVER}.offer.json --apply", f"share leave {RECEIVER}.offer.json --apply",
]  # fmt: skip


class Every(dict):
    """The same code for whatever is asked, without an end."""

    def __init__(self, code):
        super().__init__()
        self.code, self.asked = code, 0

    def get(self, action, default=None):
        self.asked += 1
        return [self.code]


@pytest.fixture
def place(two, config, server, monkeypatch, tmp_path):  # noqa: F811
    """A directory with all files that the verbs name, made while AWS was well."""
    said_of = pytest.MonkeyPatch()
    use(said_of, server, "admin")
    text = HUNT.format(subnet=config.subnets[0])
    (tmp_path / "hunt.toml").write_text(text)
    images = '[matrix.images]\none = "ami-12345678"\n[matrix.tunings]\nnone = ""\n'
    (tmp_path / "matrix.toml").write_text(text + images)
    (tmp_path / "hunt").mkdir()
    Hunt(config, two.world, tmp_path / "hunt").run()
    (tmp_path / "hunt" / "hunt.toml").write_text(text)
    said_of.undo()
    monkeypatch.setattr("tickpath_cloud.tiers.stacks.time.sleep", lambda seconds: None)
    return two


@pytest.mark.parametrize("code", CODES)
def test_no_verb_ends_with_a_fault_of_the_program(place, code, capsys):
    said(capsys, place, "owner", "grant", "--to", RECEIVER, "--apply")
    for verb in VERBS:
        place.world.errors = every = Every(code)
        side = "receiver" if "offer.json" in verb else "owner" if "share" in verb else "admin"
        place._use(side)
        status = cli.main(verb.split())
        err = capsys.readouterr().err
        assert status == 2 and "error: " in err, (verb, status, err)
        assert CODES[code] in err and "fault" not in err and "Traceback" not in err, (verb, err)
        assert every.asked > 0, f"{verb} asked AWS nothing"
