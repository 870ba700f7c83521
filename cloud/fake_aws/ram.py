"""Resource Access Manager across accounts: shares, invitations, permissions; placement groups."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fake_aws.world import World

BASIC = ("ec2:DescribePlacementGroups", "ec2:RunInstances")
FULL = (*BASIC, "ec2:CreateCapacityReservation", "ec2:ModifyInstancePlacement")
PERMISSIONS = {  # the second is as an account's own, narrower one
    "arn:aws:ram::aws:permission/FakeDefaultPlacementGroup": FULL,
    "arn:aws:ram:eu-west-1:111111111111:permission/launch-only": BASIC,
}
INVITATION_SECONDS = 7 * 86_400


@dataclass
class Share:
    arn: str
    name: str
    owner: str
    resources: list[str]
    principals: list[str]
    permissions: list[str]
    tags: dict[str, str]
    status: str = "ACTIVE"
    invitations: dict[str, list] = field(default_factory=dict)  # account -> [arn, status, since]


class RamError(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Ram:
    """`answer` is one request; accounts are those of the credentials."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.shares: dict[str, Share] = {}
        self.organizations: dict[str, set[str]] = {}  # ARN -> accounts

    def answer(self, account: str, action: str, body: dict[str, Any]) -> dict:
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", action).lower()
        operation = getattr(self, f"_{name}", None)
        if operation is None:
            raise RamError("UnknownOperationException", f"the fake has no {action}")
        found = operation(account, body)
        self._apply()
        return found

    # --- the owner ------------------------------------------------------------------------------

    def _list_permissions(self, account: str, body: dict) -> dict:
        return {"permissions": [
            {"arn": arn, "resourceType": "ec2:PlacementGroup"} for arn in PERMISSIONS
        ]}  # fmt: skip

    def _get_permission(self, account: str, body: dict) -> dict:
        actions = list(PERMISSIONS[body["permissionArn"]])
        text = json.dumps({"Effect": "Allow", "Action": actions})
        return {"permission": {"arn": body["permissionArn"], "permission": text}}

    def _create_resource_share(self, account: str, body: dict) -> dict:
        for arn in body["resourceArns"]:
            if ":subnet/" in arn and f":{account}:" in arn:
                if not any(account in members for members in self.organizations.values()):
                    raise RamError("OperationNotPermittedException", "subnets need an organisation")
            elif not any(g.arn == arn and g.owner == account for g in self.world.groups.values()):
                raise RamError("MalformedArnException", f"{arn} can't be shared by {account}")
        for principal in body["principals"]:
            inside = principal in self.organizations or self._fellow(account, principal)
            if not inside and not body.get("allowExternalPrincipals", True):
                raise RamError("OperationNotPermittedException", f"{principal} is external")
        arn = f"arn:aws:ram:eu-west-1:{account}:resource-share/{self.world.random.integers(10**15)}"
        share = Share(
            arn, body["name"], account, body["resourceArns"], body["principals"],
            body.get("permissionArns") or [next(iter(PERMISSIONS))],
            {tag["key"]: tag["value"] for tag in body.get("tags", [])},
        )  # fmt: skip
        for principal in share.principals:
            if principal not in self.organizations and not self._fellow(account, principal):
                invited = re.search(r"\d{12}", principal)
                assert invited is not None
                self._invite(share, invited[0])
        self.shares[arn] = share
        return {"resourceShare": self._described(share)}

    def _invite(self, share: Share, account: str) -> None:
        arn = share.arn.replace("resource-share/", "resource-share-invitation/")
        share.invitations[account] = [arn, "PENDING", self.world.now()]

    def _delete_resource_share(self, account: str, body: dict) -> dict:
        self._own(account, body["resourceShareArn"]).status = "DELETED"
        return {"returnValue": True}

    def _tag_resource(self, account: str, body: dict) -> dict:
        share = self._own(account, body["resourceShareArn"])
        share.tags.update({tag["key"]: tag["value"] for tag in body["tags"]})
        return {}

    def _list_resource_share_permissions(self, account: str, body: dict) -> dict:
        share = self._own(account, body["resourceShareArn"])
        return {"permissions": [{"arn": arn} for arn in share.permissions]}

    def _get_resource_shares(self, account: str, body: dict) -> dict:
        wanted = {entry["tagKey"] for entry in body.get("tagFilters", [])}
        status = body.get("resourceShareStatus")
        found = [
            share for share in self.shares.values()
            if self._sees(account, share, body["resourceOwner"])
            and wanted <= set(share.tags) and status in (None, share.status)
        ]  # fmt: skip
        start = int(body.get("nextToken", "0"))
        more = {"nextToken": str(start + 2)} if len(found) > start + 2 else {}  # small pages
        return {"resourceShares": [self._described(s) for s in found[start : start + 2]], **more}

    def _sees(self, account: str, share: Share, owner: str) -> bool:
        if owner == "SELF":
            return share.owner == account
        return account in self._members(share)

    # --- the receiver ---------------------------------------------------------------------------

    def _get_resource_share_invitations(self, account: str, body: dict) -> dict:
        wanted = body.get("resourceShareArns")
        found = []
        for share in self.shares.values():
            if account in share.invitations and wanted in (None, [share.arn]):
                arn, status, since = share.invitations[account]
                if status == "PENDING" and share.status == "DELETED":
                    continue
                if status == "PENDING" and since + INVITATION_SECONDS <= self.world.now():
                    status = "EXPIRED"
                found.append({
                    "resourceShareInvitationArn": arn, "resourceShareArn": share.arn,
                    "resourceShareName": share.name, "senderAccountId": share.owner,
                    "receiverAccountId": account, "status": status,
                })  # fmt: skip
        return {"resourceShareInvitations": found}

    def _accept_resource_share_invitation(self, account: str, body: dict) -> dict:
        for share in self.shares.values():
            arn, status, _ = share.invitations.get(account, ("", "", 0))
            if arn == body["resourceShareInvitationArn"]:
                if status != "PENDING":
                    raise RamError("ResourceShareInvitationAlreadyAcceptedException", arn)
                share.invitations[account][1] = "ACCEPTED"
                return {"resourceShareInvitation": {"resourceShareInvitationArn": arn}}
        raise RamError("ResourceShareInvitationArnNotFoundException", "no such invitation")

    # --- what follows from it -------------------------------------------------------------------

    def allowed(self, group_arn: str, account: str) -> set[str]:
        """Actions of another account on the group."""
        return {
            action
            for share in self.shares.values()
            if share.status == "ACTIVE" and group_arn in share.resources
            and account in self._members(share)
            for arn in share.permissions
            for action in PERMISSIONS[arn]
        }  # fmt: skip

    def shared_with(self, account: str) -> list[tuple[str, str]]:
        """Owner and ARN of what other accounts share with this one."""
        return [
            (share.owner, arn)
            for share in self.shares.values()
            if share.status == "ACTIVE" and account in self._members(share)
            for arn in share.resources
        ]  # fmt: skip

    def _members(self, share: Share) -> set[str]:
        found = {a for a, (_, status, _) in share.invitations.items() if status == "ACCEPTED"}
        for principal in share.principals:
            found |= self.organizations.get(principal, set())
            if self._fellow(share.owner, principal):
                found.add(principal)
        return found

    def _fellow(self, account: str, principal: str) -> bool:
        """Both accounts are of one organisation: nobody is invited then."""
        return any({account, principal} <= members for members in self.organizations.values())

    def _apply(self) -> None:
        for group in self.world.groups.values():
            members = {a for share in self.shares.values() for a in self._members(share)}
            if any(group.arn in share.resources for share in self.shares.values()):
                group.shared_with = {a for a in members if self.allowed(group.arn, a)}

    def _own(self, account: str, arn: str) -> Share:
        share = self.shares.get(arn)
        if share is None or share.owner != account or share.status != "ACTIVE":
            raise RamError("UnknownResourceException", f"{arn} is unknown")
        return share

    def _described(self, share: Share) -> dict:
        return {
            "resourceShareArn": share.arn, "name": share.name, "owningAccountId": share.owner,
            "status": share.status,
            "tags": [{"key": key, "value": value} for key, value in share.tags.items()],
        }  # fmt: skip
