"""Each topology is made of its template in the fake, checked hop by hop, and leaves nothing."""

import functools

import pytest
from botocore.exceptions import ClientError
from conftest import ME, OTHER, REGION, admin, networks, session, use

from tickpath_cloud import cli
from tickpath_cloud.errors import CloudError
from tickpath_cloud.tiers import check, endpoint, members, stacks
from tickpath_cloud.tiers.stacks import Stacks

HOST = {"Image": "ami-12345678", "Zone": f"{REGION}a"}
SSH = {"SshFrom": "198.51.100.7/32", "KeyName": "ops"}


class Sides:
    """The exchange in one account, the client in another."""

    def __init__(self, world, server, monkeypatch):
        self.world, self.server, self.monkeypatch = world, server, monkeypatch
        monkeypatch.setattr(stacks.time, "sleep", lambda seconds: None)
        for key in ("admin", "other"):
            admin(server, key).create_key_pair(KeyName="ops")
        self.before = {key: self.there(key) for key in ("admin", "other")}

    def stacks(self, key, region=REGION):
        use(self.monkeypatch, self.server, key)
        made = functools.cache(lambda service, where: self.client(key, service, where))
        for module in (stacks, endpoint, check, members):
            self.monkeypatch.setattr(module, "client", made)
        return Stacks(region, self.world.now)

    def client(self, key, service, region=REGION):
        return session(key).client(service, region_name=region, endpoint_url=self.server.url)

    def exchange(self, **more):
        side = self.stacks("admin")
        return side.deploy("exchange", "venue", {**HOST, "SecondZone": f"{REGION}b", **more})

    def client_of(self, key, way, **more):
        asked = {**HOST, **SSH, "Way": way, **more}
        return self.stacks(key).deploy("client", "c1", asked)

    def there(self, key, region=REGION):
        """Ids of whatever these templates make and AWS bills or keeps."""
        ec2, elb = self.client(key, "ec2", region), self.client(key, "elbv2", region)
        found = networks(ec2)
        found += [a["AllocationId"] for a in ec2.describe_addresses()["Addresses"]]
        found += [n["NatGatewayId"] for n in ec2.describe_nat_gateways()["NatGateways"]]
        found += [e["VpcEndpointId"] for e in ec2.describe_vpc_endpoints()["VpcEndpoints"]]
        services = ec2.describe_vpc_endpoint_service_configurations()["ServiceConfigurations"]
        found += [s["ServiceId"] for s in services]
        attached = ec2.describe_transit_gateway_vpc_attachments()["TransitGatewayVpcAttachments"]
        found += [t["TransitGatewayAttachmentId"] for t in attached]
        interfaces = ec2.describe_network_interfaces()["NetworkInterfaces"]
        found += [i["NetworkInterfaceId"] for i in interfaces]
        peerings = ec2.describe_vpc_peering_connections()["VpcPeeringConnections"]
        found += [p for p in peerings if p["Status"]["Code"] != "deleted"]
        found += [b["LoadBalancerArn"] for b in elb.describe_load_balancers()["LoadBalancers"]]
        found += [t["TargetGroupArn"] for t in elb.describe_target_groups()["TargetGroups"]]
        edges = self.client(key, "cloudfront").list_distributions()["DistributionList"]
        found += [d["Id"] for d in edges.get("Items", [])]
        shares = self.world.ram.shares.values()
        return found + [s.arn for s in shares if s.status == "ACTIVE"]

    def nothing_is_left(self, *made):
        for key, name in made:
            for _ in range(2):
                assert self.stacks(key).destroy(name) == []
        for key, before in self.before.items():
            assert sorted(map(str, self.there(key))) == sorted(map(str, before))
        running = [i for i in self.world.instances.values() if i._state.name != "terminated"]
        assert running == []

    def failures(self, key, name):
        api = self.client(key, "cloudformation")
        events = api.describe_stack_events(StackName=f"tickpath-tiers-{name}")["StackEvents"]
        return [e["ResourceStatusReason"] for e in events if e["ResourceStatus"].endswith("FAILED")]

    def hops(self, key, client, target):
        self.stacks(key)
        return check.check(REGION, client.outputs["Instance"], target)


@pytest.fixture
def sides(world, server, monkeypatch):
    return Sides(world, server, monkeypatch)


def test_endpoint_service_and_load_balancer_across_accounts(sides, capsys):
    venue = sides.exchange(ClientPrincipal=f"arn:aws:iam::{OTHER}:root")
    service = {"ServiceName": venue.outputs["ServiceName"]}
    [balancer] = sides.client("admin", "elbv2").describe_load_balancers()["LoadBalancers"]
    assert balancer["Type"] == "network" and balancer["Scheme"] == "internal"
    [targets] = sides.client("admin", "elbv2").describe_target_groups()["TargetGroups"]
    assert (targets["Protocol"], targets["Port"]) == ("TCP", 8888)
    made = sides.client_of("other", "endpoint", **service)
    [there] = admin(sides.server, "other").describe_vpc_endpoints()["VpcEndpoints"]
    assert there["State"] == "pendingAcceptance" and ":" not in made.outputs["Endpoint"]
    assert made.outputs["Endpoint"].startswith("vpce-")
    # Only the account that was named gets in; each step may be repeated.
    sides.stacks("admin")
    words = ["tiers", "accept", "venue", "--region", REGION, "--account"]
    assert cli.main([*words, OTHER]) == 0
    assert "nothing was accepted" in capsys.readouterr().out
    assert cli.main([*words, ME, "--apply"]) == 0
    assert "pendingAcceptance" in capsys.readouterr().out
    for _ in range(2):
        assert cli.main([*words, OTHER, "--apply"]) == 0
        assert f"{there['VpcEndpointId']:<24} {OTHER}  available" in capsys.readouterr().out
    ec2 = admin(sides.server, "other")
    wanted = [{"Name": "network-interface-id", "Values": there["NetworkInterfaceIds"]}]
    [interface] = ec2.describe_network_interfaces(Filters=wanted)["NetworkInterfaces"]
    way = sides.hops("other", made, interface["PrivateIpAddress"])
    assert "interface endpoint (PrivateLink), then the service's load balancer" in way.hops
    assert any("a load balancer lies on the way" in text for text in way.warnings)
    with pytest.raises(CloudError, match="venue is DELETE_FAILED"):
        sides.stacks("admin").destroy("venue")
    [reason] = sides.failures("admin", "venue")
    assert "existing active VPC Endpoint connections" in reason
    sides.nothing_is_left(("other", "c1"), ("admin", "venue"))


def test_a_service_is_closed_to_other_accounts(sides):
    venue = sides.exchange(ClientPrincipal="arn:aws:iam::333333333333:root")
    with pytest.raises(CloudError, match="does not exist"):
        sides.client_of("other", "endpoint", ServiceName=venue.outputs["ServiceName"])
    sides.stacks("admin").destroy("venue")
    sides.exchange()
    with pytest.raises(CloudError, match="has no endpoint service"):
        endpoint.Service(REGION, "venue", sides.world.now)


def test_cloudfront_before_a_load_balancer(sides):
    certificate = sides.client("admin", "acm").request_certificate(DomainName="x.example")
    prefixes = admin(sides.server).create_managed_prefix_list(
        PrefixListName="cloudfront", MaxEntries=5, AddressFamily="IPv4"
    )["PrefixList"]["PrefixListId"]
    venue = sides.exchange(
        EdgeCertificate=certificate["CertificateArn"], CloudFrontPrefixes=prefixes,
        EdgeName="x.example",
    )  # fmt: skip
    [edge] = sides.client("admin", "cloudfront").list_distributions()["DistributionList"]["Items"]
    assert edge["DomainName"] == venue.outputs["EdgeDomain"]
    # CloudFront checks the certificate: its name must be the origin's.
    assert edge["Origins"]["Items"][0]["DomainName"] == "x.example"
    elb = sides.client("admin", "elbv2")
    [balancer] = elb.describe_load_balancers()["LoadBalancers"]
    assert balancer["Type"] == "application" and len(balancer["AvailabilityZones"]) == 2
    assert balancer["DNSName"] == venue.outputs["EdgeBalancerName"]
    [listener] = elb.describe_listeners(LoadBalancerArn=balancer["LoadBalancerArn"])["Listeners"]
    assert (listener["Protocol"], listener["Port"]) == ("HTTPS", 443)
    made = sides.client_of("other", "edge")
    assert sides.hops("other", made, "198.51.100.200").hops == ("internet gateway",)
    sides.nothing_is_left(("other", "c1"), ("admin", "venue"))


def test_the_edge_through_a_nat_gateway(sides):
    made = sides.client_of("other", "edge-through-nat")
    way = sides.hops("other", made, "198.51.100.200")
    assert [hop.split(" nat-")[0] for hop in way.hops] == ["NAT gateway", "internet gateway"]
    assert "NAT gateway lies on the way: peering needs none" in way.warnings
    sides.nothing_is_left(("other", "c1"))


def peered(sides, way, *, back=True):
    venue = sides.exchange()
    held = venue.outputs
    asked = {"ExchangeVpc": held["VpcId"]}
    if back:
        asked |= {
            "ExchangeRouteTable": held["RouteTable"],
            "ExchangeSecurityGroup": held["SecurityGroup"],
        }
    made = sides.client_of("admin", way, **asked)
    wanted = [{"Name": "status-code", "Values": ["active"]}]
    found = admin(sides.server).describe_vpc_peering_connections(Filters=wanted)
    [peering] = [p["VpcPeeringConnectionId"] for p in found["VpcPeeringConnections"]]
    return sides.hops("admin", made, held["Address"]), peering, held["SecurityGroup"]


def lets_in(sides, group):
    [found] = admin(sides.server).describe_security_groups(GroupIds=[group])["SecurityGroups"]
    return sorted(r["CidrIp"] for p in found["IpPermissions"] for r in p["IpRanges"])


def test_peering_and_an_inspection_appliance_before_it(sides):
    way, peering, group = peered(sides, "peering")
    assert way.hops == (f"peering {peering}",)
    assert not any("no way back" in text for text in way.warnings), way
    assert lets_in(sides, group) == ["10.0.0.0/16", "10.96.0.0/24"]
    assert sides.stacks("admin").destroy("c1") == []
    assert lets_in(sides, group) == ["10.0.0.0/16"], "the client's stack takes its rule with it"
    assert sides.stacks("admin").destroy("venue") == []
    way, _, _ = peered(sides, "peering", back=False)
    assert any("no way back to 10.96.0." in text for text in way.warnings)
    assert sides.stacks("admin").destroy("c1") == []
    assert sides.stacks("admin").destroy("venue") == []
    way, peering, _ = peered(sides, "appliance")
    assert way.hops[0].startswith("inspection appliance ")
    assert way.hops[1:] == (f"peering {peering}",)
    assert "appliance lies on the way: peering needs none" in way.warnings
    forwards = [i for i in sides.world.instances.values() if i.source_dest_check is False]
    assert len(forwards) == 1, "AWS drops what a host forwards unless the check is off"
    sides.nothing_is_left(("admin", "c1"), ("admin", "venue"))


def test_a_transit_gateway(sides):
    ec2 = admin(sides.server, "other")
    gateway = ec2.create_transit_gateway()["TransitGateway"]["TransitGatewayId"]
    made = sides.client_of("other", "transit-gateway", TransitGateway=gateway)
    way = sides.hops("other", made, "10.0.0.10")
    assert way.hops == (f"Transit Gateway {gateway}",)
    assert "Transit Gateway lies on the way: peering needs none" in way.warnings
    sides.nothing_is_left(("other", "c1"))


def shared_venue(sides):
    """In a placement group; its subnet is shared with an account of the same organisation."""
    admin(sides.server).create_placement_group(GroupName="g", Strategy="cluster")
    [group] = sides.world.groups.values()
    organization = "arn:aws:organizations::1:organization/o-a"
    sides.world.ram.organizations[organization] = {ME, OTHER}
    return group, sides.exchange(PlacementGroup="g", SharedWith=OTHER)


def test_the_same_vpc_in_the_group_or_not_and_a_shared_subnet(sides):
    group, venue = shared_venue(sides)
    [share] = sides.world.ram.shares.values()
    assert share.resources[0].endswith(f"subnet/{venue.outputs['SubnetId']}")
    assert share.principals == [OTHER]
    asked = {"VpcId": venue.outputs["VpcId"], "SubnetId": venue.outputs["SubnetId"], **SSH}
    asked["Image"] = HOST["Image"]
    for placed in (group.id, ""):
        side = sides.stacks("admin")
        made = side.deploy("same-vpc", "near", {**asked, "PlacementGroupId": placed})
        way = sides.hops("admin", made, venue.outputs["Address"])
        assert way.hops == ()
        assert any("same placement group" in text for text in way.warnings) == (not placed)
        assert side.destroy("near") == []
    sides.nothing_is_left(("admin", "venue"))


def test_another_account_launches_into_the_shared_subnet(sides):
    """Into the owner's group too; with a share ends the right to launch."""
    group, venue = shared_venue(sides)
    ram = sides.client("admin", "ram")
    shared = ram.create_resource_share(name="g", resourceArns=[group.arn], principals=[OTHER])
    asked = {
        "VpcId": venue.outputs["VpcId"], "SubnetId": venue.outputs["SubnetId"],
        "Image": HOST["Image"], "PlacementGroupId": group.id, **SSH,
    }  # fmt: skip
    side = sides.stacks("other")
    made = side.deploy("same-vpc", "guest", asked)
    guest = sides.world.instances[made.outputs["Instance"]]
    assert guest.ec2_backend.account_id == OTHER and guest in group.live()
    assert guest.subnet_id == venue.outputs["SubnetId"]
    way = sides.hops("other", made, venue.outputs["Address"])
    assert way.hops == () and "another account's" in way.warnings[0]
    assert side.destroy("guest") == []
    other = admin(sides.server, "other")
    launch = {"MinCount": 1, "MaxCount": 1, "ImageId": HOST["Image"], "SubnetId": asked["SubnetId"]}
    ram.delete_resource_share(resourceShareArn=shared["resourceShare"]["resourceShareArn"])
    with pytest.raises(ClientError, match=group.id):
        other.run_instances(**launch, Placement={"GroupId": group.id})
    sides.nothing_is_left(("other", "guest"), ("admin", "venue"))
    with pytest.raises(ClientError, match="InvalidSubnetID.NotFound"):
        other.run_instances(**launch)


def test_a_stack_s_host_ends_itself(sides):
    sides.exchange(TtlMinutes="30")
    [host] = sides.world.instances.values()
    sides.world.advance(29 * 60)
    assert host._state.name == "running"
    sides.world.advance(120)
    assert host._state.name == "terminated"
