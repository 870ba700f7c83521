"""A pair of real hosts: namespaces, Ansible, an exchange on one and its client on the other."""

from dataclasses import replace
from decimal import Decimal

import pytest
from conftest import skip
from namespaces import SUBNET, Hosts, missing, tickpath

from tickpath_cloud.ansible import AnsibleHosts
from tickpath_cloud.ec2 import Ec2
from tickpath_cloud.journal import Journal
from tickpath_cloud.matrix import measure as matrix
from tickpath_cloud.matrix.cells import Matrix
from tickpath_cloud.matrix.table import table


@pytest.mark.root
def test_a_pair_measures_over_the_network_and_leaves_nothing(config, world, tmp_path):
    if need := missing():
        skip("root", f"{need} is missing")
    if tickpath() is None:
        skip("tickpath", "no binary in target/: cargo build -p tickpath")
    world.policies["me"] = None
    with Hosts(world) as hosts:
        config = replace(
            config, budget=Decimal(20), instance_types=("c6i.large",), ssh_user="root",
            ssh_port=2222, reach="private", install_dir="/mnt", ssh_key=str(hosts.directory / "id"),
            ssh_from=f"{SUBNET}.254/32", tickpath=tickpath(),
        )  # fmt: skip
        asked = Matrix(
            images={"one": "ami-12345678"}, tunings={"none": ""}, pair=True, noise_seconds=1,
            set=("runs=1", "seconds=1", "warm_up_seconds=0.2", "floor_seconds=0", "bare_seconds=0",
                 "hiccup_seconds=0", "subject.rust.backend=block"),
        )  # fmt: skip
        reached = AnsibleHosts(config, Ec2(config, "pair"), tmp_path)
        reached.answer_seconds = 90
        with Journal(tmp_path / "matrix.jsonl") as journal:
            [row] = matrix.measure(config, asked, "pair", reached, world.now, journal)
        said = (tmp_path / "ansible.log").read_text()[-3000:]
        assert row.why == "" and row.p50_us, f"{table([row])}\n{said}"
        assert hosts.alive() == [] and not world.groups
