"""AWS's error codes, and what to do about each: one table for all verbs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum


class Then(Enum):
    RETRY = "ask again after a pause, up to a limit; then give up and keep the journal"
    GONE = "what was to be removed is gone: success"
    NEXT_TYPE = "launch the next instance type, or on the other market"
    NEXT_ZONE = "launch in another zone; where there is none, the next type"
    KEEP = "give up and keep the journal: a person can mend it and continue"
    TEAR_DOWN = "give up and remove everything: it can't be mended while instances cost money"


@dataclass(frozen=True)
class Reason:
    make: Then  # when something is made, changed or described
    end: Then  # when it is removed
    words: str = ""  # in front of AWS's own


def _same(then: Then, words: str = "") -> Reason:
    return Reason(then, then if then is Then.RETRY else Then.KEEP, words)


_LATE = Reason(Then.RETRY, Then.GONE)  # made a moment ago, and not everywhere at AWS yet
_BUSY = _same(Then.RETRY)
_USED = Reason(Then.KEEP, Then.RETRY, "something still uses it")
_NO_CAPACITY = _same(Then.NEXT_TYPE, "AWS has no capacity for this now")
_NOT_HERE = _same(Then.NEXT_ZONE, "AWS does not offer this here")
_QUOTA = _same(Then.NEXT_TYPE, "a quota of this account is reached")
_CREDENTIALS = _same(Then.KEEP, "these credentials are no longer valid: renew them and repeat")

TABLE = {
    # Descriptions and other calls lag behind what was made.
    "InvalidPlacementGroup.Unknown": _LATE,
    "InvalidGroup.NotFound": _LATE,
    "InvalidGroupId.Malformed": _same(Then.KEEP),
    "InvalidInstanceID.NotFound": _LATE,
    "InvalidNetworkInterfaceID.NotFound": _LATE,
    "InvalidVolume.NotFound": _LATE,
    "InvalidSnapshot.NotFound": _LATE,
    "InvalidAllocationID.NotFound": _LATE,
    "InvalidSubnetID.NotFound": _LATE,
    "InvalidVpcID.NotFound": _LATE,
    "InvalidInternetGatewayID.NotFound": _LATE,
    "InvalidVpcPeeringConnectionID.NotFound": _LATE,
    "InvalidCapacityReservationId.NotFound": _LATE,
    "InvalidRouteTableID.NotFound": _LATE,
    "InvalidRoute.NotFound": _LATE,
    "InvalidAddress.NotFound": _LATE,
    "InvalidPermission.NotFound": Reason(Then.KEEP, Then.GONE),
    "UnknownResourceException": Reason(Then.KEEP, Then.GONE),
    "ResourceNotFoundException": Reason(Then.KEEP, Then.GONE),
    "InvalidStateTransition": Reason(Then.KEEP, Then.GONE),
    "Gateway.NotAttached": Reason(Then.KEEP, Then.GONE),
    # Its users are being removed, which takes time.
    "DependencyViolation": _USED,
    "InvalidPlacementGroup.InUse": _USED,
    "InvalidGroup.InUse": _USED,
    "InvalidNetworkInterface.InUse": _USED,
    "InvalidIPAddress.InUse": _USED,
    "InvalidSnapshot.InUse": _USED,
    "VolumeInUse": _USED,
    "IncorrectState": _BUSY,
    "IncorrectInstanceState": _BUSY,
    "OperationInProgressException": _BUSY,
    "OperationAbortedException": _BUSY,
    # AWS is busy: botocore's codes of throttling (botocore/retries/standard.py).
    "RequestLimitExceeded": _BUSY,
    "Throttling": _BUSY,
    "ThrottlingException": _BUSY,
    "ThrottledException": _BUSY,
    "RequestThrottled": _BUSY,
    "RequestThrottledException": _BUSY,
    "TooManyRequestsException": _BUSY,
    "EC2ThrottledException": _BUSY,
    "SlowDown": _BUSY,
    "BandwidthLimitExceeded": _BUSY,
    "ProvisionedThroughputExceededException": _BUSY,
    "TransactionInProgressException": _BUSY,
    "PriorRequestNotComplete": _BUSY,
    # AWS has a fault.
    "InternalError": _BUSY,
    "InternalErrorException": _BUSY,
    "InternalFailure": _BUSY,
    "InternalServerError": _BUSY,
    "ServerInternalException": _BUSY,
    "ServiceUnavailable": _BUSY,
    "ServiceUnavailableException": _BUSY,
    "Unavailable": _BUSY,
    "RequestTimeout": _BUSY,
    "RequestTimeoutException": _BUSY,
    "IdempotentRequestInProgress": _BUSY,
    "ConcurrentTagAccess": _BUSY,
    "NotReadable": _same(Then.RETRY, "AWS answered what can't be read"),
    "NotReached": _same(Then.RETRY, "AWS can't be reached"),
    # Another place or machine.
    "InsufficientFreeAddressesInSubnet": _same(
        Then.NEXT_ZONE, "the subnet has no free address left"
    ),
    "Unsupported": _NOT_HERE,
    "VolumeTypeNotAvailableInZone": _NOT_HERE,
    # A client token is bound to one subnet; a retry elsewhere uses another token.
    "IdempotentInstanceTerminated": _same(
        Then.NEXT_ZONE, "the instance of this request has ended already"
    ),
    "InsufficientInstanceCapacity": _NO_CAPACITY,
    "InsufficientHostCapacity": _NO_CAPACITY,
    "InsufficientCapacity": _NO_CAPACITY,
    "InsufficientCapacityOnHost": _NO_CAPACITY,
    "InsufficientVolumeCapacity": _NO_CAPACITY,
    "InsufficientAddressCapacity": _NO_CAPACITY,
    "InsufficientReservedInstanceCapacity": _NO_CAPACITY,
    "UnfulfillableCapacity": _NO_CAPACITY,
    "ReservationCapacityExceeded": _NO_CAPACITY,
    "SpotMaxPriceTooLow": _NO_CAPACITY,
    "MaxSpotInstanceCountExceeded": _QUOTA,
    "VcpuLimitExceeded": _QUOTA,
    "InstanceLimitExceeded": _QUOTA,
    # The account.
    "PendingVerification": _same(
        Then.KEEP, "AWS still verifies this account, for up to four hours: repeat it then"
    ),
    "ResourceLimitExceeded": _same(Then.TEAR_DOWN, "a quota of this account is reached"),
    "PlacementGroupLimitExceeded": _same(Then.TEAR_DOWN, "a quota of this account is reached"),
    "SecurityGroupLimitExceeded": _same(Then.TEAR_DOWN, "a quota of this account is reached"),
    "OptInRequired": _same(Then.TEAR_DOWN, "the account must subscribe to this first"),
    "Blocked": _same(Then.TEAR_DOWN, "AWS has blocked this account"),
    "InvalidAMIID.NotFound": _same(Then.TEAR_DOWN, "the region has no such image"),
    "InvalidAMIID.Unavailable": _same(Then.TEAR_DOWN, "the region has no such image"),
    "InvalidKeyPair.NotFound": _same(Then.TEAR_DOWN, "the region has no such key pair"),
    "ExpiredToken": _CREDENTIALS,
    "ExpiredTokenException": _CREDENTIALS,
    "RequestExpired": _same(
        Then.KEEP, "the request reached AWS too late, or this machine's clock is wrong"
    ),
    "AuthFailure": _CREDENTIALS,
    "InvalidClientTokenId": _CREDENTIALS,
    "UnrecognizedClientException": _CREDENTIALS,
    "InvalidSignatureException": _CREDENTIALS,
    "SignatureDoesNotMatch": _CREDENTIALS,
}
UNKNOWN = _same(Then.KEEP)
# VpcLimitExceeded, LimitExceededException of CloudFormation, and some forty more.
_LIMITS = re.compile(r"(Limit|Quota)Exceeded(Exception)?$")
_OTHER_QUOTA = _same(Then.KEEP, "a quota of this account is reached")


def reason(code: str) -> Reason:
    return TABLE.get(code) or (_OTHER_QUOTA if _LIMITS.search(code) else UNKNOWN)
