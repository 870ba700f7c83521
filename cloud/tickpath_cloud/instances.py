"""EC2's instances: listed, waited for, ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import WaiterError

from tickpath_cloud import tags
from tickpath_cloud.aws import call, pages, pause, remove
from tickpath_cloud.errors import CloudError, Rejected
from tickpath_cloud.reasons import Then, reason

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

LIVE = ["pending", "running", "stopping", "stopped", "shutting-down"]
WAIT_SECONDS, POLL_SECONDS = 300, 2
UNLISTED_SECONDS = 600  # by then AWS lists what was launched


def of_hunt(hunt: str) -> list[Any]:
    return [{"Name": f"tag:{tags.HUNT}", "Values": [hunt]}]


def instances(ec2: EC2Client, filters: list[dict]) -> list[dict]:
    """Instances that still exist."""
    live = [*filters, {"Name": "instance-state-name", "Values": LIVE}]
    found = pages(ec2, "describe_instances", "Reservations", Filters=live)
    return [instance for reservation in found for instance in reservation["Instances"]]


def wait_until_running(ec2: EC2Client, ids: list[str]) -> list[str]:
    """By id: AWS's lists of instances lag behind. Returns those that run; others have ended."""
    left = list(ids)
    while left:
        try:
            waiter = ec2.get_waiter("instance_running")
            call(waiter.wait, InstanceIds=left, WaiterConfig={
                "Delay": POLL_SECONDS, "MaxAttempts": WAIT_SECONDS // POLL_SECONDS,
            })  # fmt: skip
            return left
        except WaiterError as error:
            gone = ended(ec2, left)
            if not gone:
                raise CloudError(
                    f"{', '.join(left)} did not start in {WAIT_SECONDS} s: {error}"
                ) from error
            left = [known for known in left if known not in gone]
    return left


def to_end(ec2: EC2Client, filters: list[dict], recent: list[str]) -> list[str]:
    """Listed instances, and ones launched so recently that AWS may not list them yet."""
    listed = [instance["InstanceId"] for instance in instances(ec2, filters)]
    unlisted = [known for known in recent if known not in listed]
    gone = ended(ec2, unlisted)
    return [*listed, *(known for known in unlisted if known not in gone)]


def wait_until_ended(ec2: EC2Client, ids: list[str]) -> None:
    """An id that AWS does not know any more has ended."""
    left = list(ids)
    for _ in range(WAIT_SECONDS // POLL_SECONDS):
        left = [i["InstanceId"] for i in instances(ec2, [_ids(left)])] if left else []
        if not left:
            return
        pause(POLL_SECONDS)
    raise CloudError(f"{', '.join(left)} did not end in {WAIT_SECONDS} s: run destroy again")


def _ids(ids: list[str]) -> Any:
    return {"Name": "instance-id", "Values": ids}


def ended(ec2: EC2Client, ids: list[str]) -> set[str]:
    """By a filter: an id that AWS does not list yet is no error then."""
    if not ids:
        return set()
    wanted = [
        _ids(ids),
        {"Name": "instance-state-name", "Values": ["shutting-down", "terminated"]},
    ]
    found = pages(ec2, "describe_instances", "Reservations", Filters=wanted)
    return {i["InstanceId"] for reservation in found for i in reservation["Instances"]}


def end(ec2: EC2Client, ids: list[str]) -> None:
    """One that is gone already makes AWS reject the whole request: then one by one."""
    if not ids:
        return
    try:
        remove(ec2.terminate_instances, InstanceIds=ids)
    except Rejected as rejected:
        if reason(rejected.code).end is not Then.GONE:
            raise
        for known in ids:
            _end_one(ec2, known)


def _end_one(ec2: EC2Client, known: str) -> None:
    """AWS may not know yet what was launched a moment ago: asked again before it counts as gone."""
    try:
        call(ec2.terminate_instances, InstanceIds=[known])
    except Rejected as rejected:
        if reason(rejected.code).end is not Then.GONE:
            raise


TIMER = "/var/lib/tickpath-end/plan"  # on the host: run with MINUTES, it ends the host then
USER_DATA = """#!/bin/sh
# Ends this host after a time, whether or not anybody is left to end it. A reboot drops a planned
# shutdown, so a boot unit plans it again.
mkdir -p /var/lib/tickpath-end
cat >/var/lib/tickpath-end/plan <<'END'
at=/var/lib/tickpath-end/at
[ -z "$1" ] || echo $(($(date +%s) + 60 * $1)) >$at
left=$((($(cat $at) - $(date +%s) + 59) / 60))
[ $left -gt 0 ] || left=0
exec shutdown -P +$left
END
sh /var/lib/tickpath-end/plan @MINUTES@
[ -d /etc/systemd/system ] || exit 1
cat >/etc/systemd/system/tickpath-end.service <<'END'
[Unit]
Description=tickpath: plan the end of this host again after a reboot
After=systemd-logind.service
[Service]
Type=oneshot
ExecStart=/bin/sh /var/lib/tickpath-end/plan
[Install]
WantedBy=multi-user.target
END
mkdir -p /etc/systemd/system/multi-user.target.wants
ln -sf ../tickpath-end.service /etc/systemd/system/multi-user.target.wants/
"""


def user_data(ttl_seconds: int) -> str:
    """The instance ends itself, also after a reboot. It takes cloud-init and systemd."""
    return timer(str(max(ttl_seconds // 60, 1)))


def timer(minutes: str) -> str:
    return USER_DATA.replace("@MINUTES@", minutes)
