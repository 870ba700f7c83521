"""Templates, the check of a path, the table; and four tiers on one machine at the same time."""

import json
import random
import re
import shutil
import subprocess
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import REGION, admin, skip
from fleet_hosts import launch
from namespaces import PORT, SUBNET, Hosts, Relay, exchange, missing, tickpath

from tickpath_cloud import cli, policy
from tickpath_cloud.errors import CloudError
from tickpath_cloud.fleet.measure import Settings as FleetSettings
from tickpath_cloud.records import Series, at_once, parse_record, windows
from tickpath_cloud.tiers import check, command, measure, page, stacks
from tickpath_cloud.tiers.stacks import TEMPLATES, Stacks, names
from tickpath_cloud.tiers.table import DOCUMENTS, figures, table


@pytest.mark.parametrize("name", names())
def test_templates_pass_cfn_lint(name):
    from cfnlint import lint_file

    assert [str(match) for match in lint_file(Path(str(TEMPLATES / f"{name}.yaml")))] == []


def test_cloudfront_connects_by_the_name_in_the_certificate():
    from cfnlint.decode import cfn_yaml

    held = cfn_yaml.load(str(TEMPLATES / "exchange.yaml"))
    config = held["Resources"]["Edge"]["Properties"]["DistributionConfig"]
    assert [origin["DomainName"] for origin in config["Origins"]] == [{"Ref": "EdgeName"}]
    # AllViewerExceptHostHeader: with the viewer's Host, CloudFront checks for that name instead.
    policy = "b689b0a8-53d0-40ab-baf2-68738e2966ac"
    assert config["DefaultCacheBehavior"]["OriginRequestPolicyId"] == policy
    balancer = held["Outputs"]["EdgeBalancerName"]["Value"]
    assert balancer == {"Fn::GetAtt": ["EdgeBalancer", "DNSName"]}


def test_templates_are_printed(capsys):
    assert cli.main(["tiers", "template", "client"]) == 0
    assert "VPCPeeringConnection" in capsys.readouterr().out


def test_a_stack_is_planned_made_listed_and_destroyed(net, world, capsys):
    net.ec2.create_key_pair(KeyName="ops")
    asked = {
        "Way": "peering", "Image": "ami-12345678", "Zone": f"{REGION}a", "KeyName": "ops",
        "SshFrom": "198.51.100.7/32", "ExchangeVpc": net.vpc, "Cidr": "10.80.0.0/24",
        "SubnetCidr": "10.80.0.0/25",
    }  # fmt: skip
    words = [word for key, value in asked.items() for word in ("--set", f"{key}={value}")]
    deploy = ["tiers", "deploy", "client", "one", "--region", REGION, *words]
    stacks = Stacks(REGION, world.now)
    assert cli.main([*deploy, "--budget", "1"]) == 0
    assert "costs      $0.36 in 240 min" in capsys.readouterr().out and stacks.find() == []
    assert cli.main([*deploy, "--budget", "0.1", "--apply"]) == 2
    assert "the budget is $0.10" in capsys.readouterr().err
    for _ in range(2):
        assert cli.main([*deploy, "--budget", "1", "--apply"]) == 0
        assert "tickpath-tiers-one" in capsys.readouterr().out
    [stack] = stacks.find()
    assert stack.outputs["Instance"].startswith("i-") and not stack.orphan
    routes = net.ec2.describe_vpc_peering_connections()["VpcPeeringConnections"]
    assert routes[0]["AccepterVpcInfo"]["VpcId"] == net.vpc
    world.advance(5 * 3600)
    assert stacks.find()[0].orphan
    destroy = ["tiers", "destroy", "one", "--region", REGION]
    assert cli.main(destroy) == 0 and stacks.find()
    for _ in range(2):
        assert cli.main([*destroy, "--apply"]) == 0
        assert "nothing is left" in capsys.readouterr().out
    assert stacks.find() == []


def test_a_plan_has_the_price_of_what_does_not_end_by_itself(world, capsys):
    world.policies["me"] = policy.policy("tiers")["Statement"]
    client = {"Image": "ami-1", "Zone": "a", "KeyName": "k", "SshFrom": "198.51.100.7/32"}
    exchange = {"Image": "ami-1", "Zone": "a", "SecondZone": "b"}
    cases = (
        ("exchange", exchange, ("$0.36 in",)),
        ("exchange", {**exchange, "ClientPrincipal": "arn", "EdgeCertificate": "arn"},
         ("network load balancer, $0.03", "application load balancer, $0.03", "$0.54 in")),
        ("client", {**client, "Way": "endpoint"}, ("interface endpoint, $0.01", "$0.40 in")),
        ("client", {**client, "Way": "edge-through-nat"}, ("NAT gateway, $0.05", "$0.54 in")),
        ("client", {**client, "Way": "transit-gateway"},
         ("Transit Gateway attachment, $0.05", "the rest costs until", "$0.56 in")),
        ("client", {**client, "Way": "appliance"}, ("2 c7i.large, $0.18 an hour", "$0.72 in")),
    )  # fmt: skip
    for kind, asked, said in cases:
        plan = Stacks(REGION, world.now).plan(kind, "x", asked, Decimal(5))
        assert all(text in plan for text in said), plan
    with pytest.raises(CloudError, match=r"costs \$0.54 in 240 min, the budget is \$0.50"):
        Stacks(REGION, world.now).plan(*cases[1][:1], "x", cases[1][1], Decimal("0.5"))


def test_a_stack_needs_its_parameters(world, capsys):
    world.policies["me"] = None
    deploy = ["tiers", "deploy", "exchange", "x", "--region", REGION, "--budget", "5"]
    assert cli.main(deploy) == 2 and "needs Image, SecondZone, Zone" in capsys.readouterr().err
    assert cli.main([*deploy, "--set", "Typo=1"]) == 2
    assert "no parameter Typo" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted({*names()} - {"way-back"}))  # it makes no host
def test_hosts_of_templates_require_imdsv2(name):
    """The hosts of the exchange and of the appliance took IMDSv1, too."""
    resources = re.split(r"\n  (?=\w+:\n)", (TEMPLATES / f"{name}.yaml").read_text())
    launches = [r for r in resources if "AWS::EC2::LaunchTemplate" in r]
    assert all("MetadataOptions: {HttpTokens: required}" in launch for launch in launches)
    hosts = [r for r in resources if "Type: AWS::EC2::Instance\n" in r]
    assert hosts and all(re.search(r"TemplateId: !Ref (Appliance)?Launch\n", h) for h in hosts)


NETWORKS = {
    "client": (
        (["Cidr=10.80.0.0/24"], "SubnetCidr is 10.96.0.0/25, which is not in Cidr, 10.80.0.0/24"),
        (["Cidr=10.80.0.0/24", "SubnetCidr=10.80.0.0/25", "Way=appliance"], "NatCidr is 10.96"),
        (["SubnetCidr=10.96.0.0/24", "Way=appliance"], "overlap: add --set NatCidr="),
        (["Cidr=10.80.0.1/24"], "Cidr is '10.80.0.1/24': "),
    ),
    "exchange": (
        (["VpcCidr=10.9.0.0/16"], "SubnetCidr is 10.0.0.0/24, which is not in VpcCidr"),
        (["SubnetCidr=10.0.1.0/25", "EdgeCertificate=arn:x"], "overlap: add --set SecondSubnet"),
    ),
}


@pytest.mark.parametrize(
    ("kind", "pairs", "why"), [(kind, *case) for kind in NETWORKS for case in NETWORKS[kind]]
)
def test_a_subnet_outside_its_vpc_fails_in_the_plan(world, kind, pairs, why):
    """AWS rejected the subnet when the VPC was there already."""
    needed = {key: "x" for key, default in stacks.declared(kind).items() if default is None}
    with pytest.raises(CloudError) as raised:
        Stacks(REGION, world.now).plan(kind, "x", needed | stacks.parameters(pairs), 5)
    assert why in str(raised.value)


def test_a_failed_stack_is_named_by_its_id(world, net, monkeypatch, capsys):
    """AWS deletes it, and shows the events of a deleted stack for its id only."""
    world.policies["me"] = None
    monkeypatch.setattr(Stacks, "find", lambda self: [])
    sets = ["Image=ami-12345678", f"Zone={REGION}a", f"SecondZone={REGION}b"]
    words = [word for pair in sets for word in ("--set", pair)]
    deploy = ["tiers", "deploy", "exchange", "x", "--region", REGION, "--budget", "5", "--apply"]
    assert cli.main([*deploy, *words]) == 2
    told = capsys.readouterr().err
    known = re.search(r"--stack-name (arn:aws:cloudformation:\S+/tickpath-tiers-x/[\w-]+)`", told)
    assert known and f"{known[1]} is gone" in told


# --- which hops lie on the way ------------------------------------------------------------------


class Net:
    """A client's subnet, and a route to the exchange's network by whatever a test wants."""

    def __init__(self, server):
        self.ec2 = admin(server)
        self.vpc, self.subnet = self.make("10.64.0.0/16", "10.64.0.0/24")
        found = self.ec2.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [self.vpc]}])
        self.table = found["RouteTables"][0]["RouteTableId"]
        self.ec2.create_placement_group(GroupName="g", Strategy="cluster")
        self.client = self.grouped(self.subnet)["InstanceId"]

    def make(self, cidr, part, zone="a"):
        vpc = self.ec2.create_vpc(CidrBlock=cidr)["Vpc"]["VpcId"]
        return vpc, self.more(vpc, part, zone)

    def more(self, vpc, part, zone="a"):
        made = self.ec2.create_subnet(VpcId=vpc, CidrBlock=part, AvailabilityZone=f"{REGION}{zone}")
        return made["Subnet"]["SubnetId"]

    def instance(self, subnet, **more):
        made = self.ec2.run_instances(
            MinCount=1, MaxCount=1, ImageId="ami-12345678", SubnetId=subnet, **more
        )
        return made["Instances"][0]

    def grouped(self, subnet):
        return self.instance(subnet, Placement={"GroupName": "g"})

    def route(self, cidr="10.0.0.0/16", **target):
        self.ec2.create_route(RouteTableId=self.table, DestinationCidrBlock=cidr, **target)

    def way(self, target):
        return check.check(REGION, self.client, target)


@pytest.fixture
def net(world, server):
    world.policies["me"] = None
    return Net(server)


def test_the_same_vpc_has_no_hop_and_another_zone_or_group_is_a_warning(net):
    near = net.grouped(net.subnet)["PrivateIpAddress"]
    assert net.way(near).hops == () and net.way(near).warnings == ()
    alone = net.instance(net.subnet)["PrivateIpAddress"]
    [warning] = net.way(alone).warnings
    assert "not in the same placement group" in warning and "target: none" in warning
    far = net.instance(net.more(net.vpc, "10.64.1.0/24", "b"))["PrivateIpAddress"]
    assert net.way(far).hops == () and "two zones" in net.way(far).warnings[0]


def test_hops_by_the_most_specific_route(net):
    other, subnet = net.make("10.0.0.0/16", "10.0.1.0/24")
    address = net.instance(subnet)["PrivateIpAddress"]
    assert "no route" in net.way(address).hops[0]
    gateway = net.ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    net.ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=net.vpc)
    net.route("0.0.0.0/0", GatewayId=gateway)
    assert net.way(address).hops == ("internet gateway",)
    transit = net.ec2.create_transit_gateway()["TransitGateway"]["TransitGatewayId"]
    net.route("10.0.0.0/8", TransitGatewayId=transit)
    way = net.way(address)
    assert transit in way.hops[0] and any("Transit Gateway" in text for text in way.warnings)
    peering = net.ec2.create_vpc_peering_connection(VpcId=net.vpc, PeerVpcId=other)[
        "VpcPeeringConnection"
    ]["VpcPeeringConnectionId"]
    net.route(VpcPeeringConnectionId=peering)
    assert "nowhere" in net.way(address).hops[0], "it was not accepted yet"
    net.ec2.accept_vpc_peering_connection(VpcPeeringConnectionId=peering)
    assert net.way(address).hops == (f"peering {peering}",)
    back, group = net.way(address).warnings
    assert "no way back to 10.64.0." in back and "placement group" in group
    found = net.ec2.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [other]}])
    net.table = found["RouteTables"][0]["RouteTableId"]
    net.route("10.64.0.0/16", VpcPeeringConnectionId=peering)
    assert net.way(address).warnings == (group,)
    net.ec2.delete_route(RouteTableId=net.table, DestinationCidrBlock="10.64.0.0/16")
    known = net.ec2.allocate_address()["AllocationId"]
    nat = net.ec2.create_nat_gateway(SubnetId=subnet, AllocationId=known)["NatGateway"]
    net.route("0.0.0.0/0", NatGatewayId=nat["NatGatewayId"])
    assert "no way back" in net.way(address).warnings[0]


def test_an_address_is_asked_for(net, capsys):
    words = ["tiers", "check", net.client, "exchange.example", "--region", REGION]
    assert cli.main(words) == 2 and "name an IP address" in capsys.readouterr().err


# --- the table ----------------------------------------------------------------------------------


def row(tier, p50, holds_to=0.99):
    pooled = {"p50": p50, "p90": 2 * p50, "p99": 3 * p50, "p99_9": None}
    return measure.Row(tier, Series("order", 1000, pooled, (p50 - 10, p50 + 10), holds_to))


def test_the_table_has_the_documents_beside_it():
    low = [
        row("edge", 900_000), row("shared-group", 60_000),
        measure.Row("peering", None, "ssh: no"),
    ]  # fmt: skip
    loads = [measure.Load("low", low, 0.97), measure.Load("high", [row("edge", 1e6, 0.0)], 1.0)]
    said = table(loads).splitlines()
    assert [line.split()[1] for line in said[1:5]] == ["shared-group", "edge", "peering", "edge"]
    assert "below 74 us" in said[1] and " 840.00 " in said[2] and "FAILED: ssh: no" in said[3]
    assert " 899.99-900.01 " in said[2] and "1000.00?" in said[4]
    assert "?" not in said[1] + said[2] and "does not hold" in "".join(said[5:])
    assert said[-1] == "load low: all tiers were measured at once for 97% of the time"
    assert "with care" in table([measure.Load("low", low, 0.4)])
    drawn = page.page(loads, "shared-group, i-1 to 10.0.0.1:8888:\n  client\n  target")
    assert drawn.count("<polyline") == 3 and "http" not in drawn and "Hops on each way" in drawn
    held = figures(loads)
    assert held[0]["tiers"][2] == {"tier": "peering", "failed": "ssh: no"}
    assert held[0]["at_once"] == 0.97 and held[1]["tiers"][0]["pooled"]["p50"] == 1e6


def test_a_ratio_to_the_floor_and_two_regimes_are_shown():
    """A p50 between two regimes is no figure, and neither is a difference from one."""
    series = {
        "name": "order", "kind": "response", "holds_to": 0.0,
        "pooled": {"count": 1000, "p50": 9_000, "p90": 9_500, "p99": 9_900},
        "regimes": [{"figures": {"p50": 7_800}}, {"figures": {"p50": 10_900}}],
        "over_floor": {"holds_to": 0.9, "figures": {"p50": {"ratio": 1.0712}}},
    }  # fmt: skip
    run = {"scenario": "s", "subjects": [{"name": "rust", "series": [series]}]}
    main = parse_record(run, "x").main
    loads = [measure.Load("low", [measure.Row("edge", main), row("peering", 60_000)], 1.0)]
    said = table(loads)
    edge, peering = said.splitlines()[1:3]
    assert "/ floor" in said.splitlines()[0] and " 7.80/10.90 " in edge and " 1.07x" in edge
    assert peering.split()[7:10] == ["-", "-", "-"] and "slow regime" in said and "9.00" not in said
    held = figures(loads)[0]["tiers"][0]
    assert held["p50_over_floor"] == 1.0712 and held["p50_over_floor_holds"]
    del series["over_floor"], series["regimes"]
    without = parse_record(run, "x").main
    assert without.ratio is None and without.over_floor() == "-" and not without.regimes_ns


def test_when_tiers_were_measured_is_read_from_their_logs(tmp_path):
    """Two runs with a pause between them; what is no subject does not count."""
    head = "#[StartTime: 1000.500 (seconds since epoch)]\n"
    for number, start in (("001", 0.0), ("002", 10.0)):
        rows = [f"Tag=rust.order.service,{start + i:.3f},1.000,9.000,HIST\n" for i in range(3)]
        beside = "Tag=hiccup.core1.noise,5.000,0.500,9.000,HIST\n"
        (tmp_path / f"{number}.hlog").write_text(head + beside + "".join(rows))
    assert windows(tmp_path) == [(1000.5, 1003.5), (1010.5, 1013.5)]
    assert at_once([windows(tmp_path)] * 2) == 1.0
    assert at_once([[(0.0, 10.0)], [(5.0, 15.0)]]) == pytest.approx(1 / 3)
    assert at_once([[(0.0, 1.0)], [(2.0, 3.0)]]) == 0.0


def test_the_hops_are_shown_before_a_run(net, tmp_path):
    file = tmp_path / "tiers.toml"
    tiers = "".join(
        f'[[tier]]\nname = "{name}"\nhost = "h"\nconnect = "{to}:8888"\n{more}'
        for name, to, more in (
            ("near", net.grouped(net.subnet)["PrivateIpAddress"], f'instance = "{net.client}"\n'),
            ("far", "10.9.9.9", f'instance = "{net.client}"\n'),
            ("unknown", "10.9.9.9", ""),
        )
    )
    file.write_text(tiers + "[load]\nlow = []\n")
    with pytest.raises(CloudError, match="name its region"):
        measure.load(file)
    file.write_text(f'region = "{REGION}"\n{tiers}[load]\nlow = []\n')
    settings = measure.load(file)
    said = command._ways(settings)
    assert said.startswith(f"near, {net.client} to ") and "no route" in said
    assert "unknown" not in said
    net.ec2.terminate_instances(InstanceIds=[net.client])
    assert command._ways(settings).count("warning: not checked: ") == 2


def test_a_file_without_tiers_is_rejected(tmp_path):
    file = tmp_path / "tiers.toml"
    file.write_text('[load]\nlow = []\n[[tier]]\nname = "a"\nhost = "h"\nconnect = "h:1"\n')
    with pytest.raises(CloudError, match="2 to 25 different tiers"):
        measure.load(file)
    two = "".join(f'[[tier]]\nname = "{n}"\nhost = "h"\nconnect = "h:1"\n' for n in "ab")
    file.write_text(f'{two}[load]\n"../low" = []\n')
    with pytest.raises(CloudError, match="'../low' names a directory"):
        measure.load(file)
    assert cli.main(["tiers", "resume", str(tmp_path / "nowhere")]) == 2


# --- four tiers on one machine ------------------------------------------------------------------

NLB, EDGE, INNER = 9003, 9004, 9104  # ports; the edge goes through a load balancer of its own
SOURCE = {"endpoint": "127.0.77.3", "edge": "127.0.77.4"}  # by which the relay knows the tier


class Hops:
    """haproxy as the network load balancer, nginx with TLS as the edge."""

    def __init__(self, directory):
        self.directory = directory
        self.processes = []
        words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        words += ["-nodes", "-days", "2", "-subj", "/CN=edge", "-addext"]
        words += [
            "subjectAltName=DNS:edge.example",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
        ]
        words += ["-keyout", str(directory / "key.pem"), "-out", str(directory / "edge.pem")]
        subprocess.run(words, check=True, capture_output=True)

    def start(self):
        (self.directory / "haproxy.cfg").write_text(f"""
global
  maxconn 200
defaults
  mode tcp
  timeout connect 10s
  timeout client 60s
  timeout server 60s
listen endpoint
  bind {SUBNET}.254:{NLB}
  server exchange {SUBNET}.254:{PORT} source {SOURCE["endpoint"]}
listen edge
  bind 127.0.0.1:{INNER}
  server exchange {SUBNET}.254:{PORT} source {SOURCE["edge"]}
""")
        (self.directory / "nginx.conf").write_text(f"""
daemon off;
worker_processes 1;
pid {self.directory}/nginx.pid;
error_log {self.directory}/nginx.log;
events {{ worker_connections 200; }}
http {{
  access_log off;
  client_body_temp_path {self.directory}/a; proxy_temp_path {self.directory}/b;
  fastcgi_temp_path {self.directory}/c; uwsgi_temp_path {self.directory}/d;
  scgi_temp_path {self.directory}/e;
  server {{
    listen {SUBNET}.254:{EDGE} ssl;
    ssl_protocols TLSv1.3;
    ssl_certificate {self.directory}/edge.pem;
    ssl_certificate_key {self.directory}/key.pem;
    location / {{
      proxy_pass http://127.0.0.1:{INNER};
      proxy_http_version 1.1;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection upgrade;
      proxy_set_header Host $host;
    }}
  }}
}}
""")
        for words in (
            ["haproxy", "-db", "-f", f"{self.directory}/haproxy.cfg"],
            [nginx(), "-c", f"{self.directory}/nginx.conf", "-p", str(self.directory)],
        ):
            log = (self.directory / f"{Path(words[0]).name}.out").open("wb")
            self.processes.append(subprocess.Popen(words, stdout=log, stderr=log))

    def stop(self):
        for process in self.processes:
            process.terminate()
            process.wait(10)


def nginx():
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/sbin")


class Site:
    """Four clients in namespaces; one exchange; the relay's delays are what is hidden."""

    def __init__(self, hosts, directory):
        self.hosts, self.directory = hosts, directory
        self.delays = {}
        self.relay = Relay(self.delay_of)
        self.process, self.relay.target = exchange(tickpath())
        self.hops = Hops(directory)
        self.hops.start()
        for name in DOCUMENTS:
            launch(hosts, name)

    def delay_of(self, address):
        ours = {source: name for name, source in SOURCE.items()}
        ours |= {self.hosts.address(name): name for name in ("shared-group", "peering")}
        return self.delays[ours[address]] / 1000

    def settings(self):
        entry = f"{SUBNET}.254"
        tls = ("tls=true", f"exchange.tls_ca={self.directory}/edge.pem",
               "exchange.tls_name=edge.example")  # fmt: skip
        ways = {"shared-group": (PORT, ()), "peering": (PORT, ()), "endpoint": (NLB, ()),
                "edge": (EDGE, tls)}  # fmt: skip
        return measure.Settings(
            tier=tuple(
                {"name": name, "host": self.hosts.address(name), "connect": f"{entry}:{port}",
                 "set": more}
                for name, (port, more) in ways.items()
            ),
            load={"low": ["load.accounts=4", "load.connections=4"],
                  "high": ["load.accounts=12", "load.connections=12"]},
            scenario="ping-pong", ssh_user="root", ssh_port=2222,
            ssh_key=str(self.hosts.directory / "id"), path="/mnt/of/tickpath",
            directory="/mnt/records",
            set=("runs=1", "seconds=4", "warm_up_seconds=0.3", "floor_seconds=0",
                 "bare_seconds=0", "hiccup_seconds=0", "subject.rust.backend=block"),
        )  # fmt: skip

    def measure(self, delays, name):
        self.delays = delays
        settings = self.settings()
        fleet = FleetSettings(
            inventory=Path("-"), scenario="ping-pong", binary=tickpath(),
            answer_seconds=60,
        )  # fmt: skip
        directory = self.directory / name
        loads = list(measure.measure(settings, fleet, directory, lambda text: None))
        log = "\n".join(p.read_text()[-2500:] for p in directory.glob("*/ansible.log"))
        rows = [(load.name, row) for load in loads for row in load.rows]
        assert all(row.series for _, row in rows), f"{table(loads)}\n{log}"
        assert all(0 < load.at_once <= 1 for load in loads), table(loads)
        return {(name, row.tier): row.series.p50_ns for name, row in rows}

    def close(self):
        self.hops.stop()
        self.relay.close()
        self.process.terminate()
        self.process.wait(10)


@pytest.fixture
def site(world, tmp_path):
    if need := missing():
        skip("root", f"{need} is missing")
    if tickpath() is None:
        skip("tickpath", "no binary in target/: cargo build -p tickpath")
    if shutil.which("haproxy") is None or nginx() is None:
        skip("haproxy", "haproxy or nginx is missing: apt-get install haproxy nginx-light")
    with Hosts(world) as hosts:
        site = Site(hosts, tmp_path)
        yield site
        site.close()


@pytest.mark.root
def test_four_tiers_at_once_and_swapped_delays_swap_the_table(site):
    tiers = list(DOCUMENTS)
    hidden = [20.0, 45.0, 75.0, 115.0]  # ms: far above what a busy machine adds
    random.Random(7).shuffle(hidden)
    first = dict(zip(tiers, hidden, strict=True))
    second = dict(zip(tiers, reversed(hidden), strict=True))
    for delays, name in ((first, "one"), (second, "two")):
        found = site.measure(delays, name)
        for load in ("low", "high"):
            order = sorted(tiers, key=lambda tier: found[load, tier])
            assert order == sorted(tiers, key=delays.get), f"{name} {load}: {json.dumps(delays)}"
            assert all(found[load, tier] > 1e6 * delays[tier] for tier in tiers)


def test_the_inventory_names_every_tier(tmp_path):
    hosts = SimpleNamespace(address=lambda name: "10.0.0.1", directory=tmp_path)
    site = SimpleNamespace(hosts=hosts, directory=tmp_path)
    held = measure._inventory(Site.settings(site))["all"]["hosts"]
    assert list(held) == list(DOCUMENTS)
    assert held["edge"]["tickpath_fleet_set_host"][0] == "tls=true"
