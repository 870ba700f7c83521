//! The cloud instance, from the file of cloud-init. Every user can read it, so there is no need to
//! ask the metadata service.

use crate::root::Root;
use record::instance::Instance;
use serde_json::Value;
use std::net::IpAddr;

const FILE: &str = "run/cloud-init/instance-data.json";

fn data(root: &Root) -> Value {
    serde_json::from_str(&root.read(FILE).unwrap_or_default()).unwrap_or_default()
}

/// In words where an address is that belongs to a network of this instance; `None` for others, and
/// without cloud-init on AWS. A subnet there lies in one zone.
pub fn zone_hint(root: &Root, address: IpAddr) -> Option<String> {
    let data = data(root);
    let cards = data.pointer("/ds/meta_data/network/interfaces/macs")?.as_object()?;
    let of = |key: &str| {
        let values = cards.values().filter_map(|card| card.get(key));
        let blocks = values.flat_map(texts).filter(|block| contains(block, address) == Some(true));
        blocks.map(str::to_owned).next()
    };
    if let Some(subnet) = of("subnet-ipv4-cidr-block").or_else(|| of("subnet-ipv6-cidr-blocks")) {
        let Instance { zone, zone_id, .. } = instance(root);
        let zone = zone_id.or(zone)?;
        return Some(format!("is in this instance's subnet {subnet}, so in its zone, {zone}"));
    }
    let vpc = of("vpc-ipv4-cidr-blocks").or_else(|| of("vpc-ipv6-cidr-blocks"))?;
    Some(format!(
        "is in this instance's VPC ({vpc}), in another subnet, whose zone is not known here"
    ))
}

/// cloud-init makes a list of several lines, and a text of one.
fn texts(value: &Value) -> Vec<&str> {
    match value.as_array() {
        Some(all) => all.iter().filter_map(Value::as_str).collect(),
        None => value.as_str().into_iter().collect(),
    }
}

/// Whether a network such as `10.0.1.0/24` contains an address; `None` if it is no network.
fn contains(network: &str, address: IpAddr) -> Option<bool> {
    let (first, length) = network.split_once('/')?;
    let (first, length): (IpAddr, u32) = (first.parse().ok()?, length.parse().ok()?);
    let bits = |address: IpAddr| match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()) << 96, 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    };
    let ((first, bits_max), (address, of_address)) = (bits(first), bits(address.to_canonical()));
    let mask = u128::MAX.checked_shl(128 - length.min(128)).unwrap_or(0);
    (length <= bits_max).then_some(bits_max == of_address && (first ^ address) & mask == 0)
}

/// The instance; empty without cloud-init.
pub(crate) fn instance(root: &Root) -> Instance {
    let data = data(root);
    // The first pointer that exists: AWS, Azure, then the common one.
    let first = |pointers: &[&str]| {
        let values = pointers.iter().filter_map(|pointer| data.pointer(pointer)?.as_str());
        values.filter(|text| !text.is_empty()).map(str::to_owned).next()
    };
    Instance {
        instance_type: first(&[
            "/ds/meta_data/instance-type",
            "/ds/meta_data/imds/compute/vmSize",
            "/v1/instance_type",
        ]),
        zone: first(&["/ds/meta_data/placement/availability-zone", "/v1/availability_zone"]),
        zone_id: first(&["/ds/meta_data/placement/availability-zone-id"]),
        placement_group: first(&[
            "/ds/meta_data/placement/group-name",
            "/ds/meta_data/imds/compute/placementGroupId",
        ]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Instance {
        with(text, instance)
    }

    fn with<T>(text: &str, read: impl FnOnce(&Root) -> T) -> T {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("run/cloud-init")).unwrap();
        std::fs::write(root.path().join(FILE), text).unwrap();
        read(&Root::at(root.path()))
    }

    #[test]
    fn an_address_of_the_instances_networks_has_a_hint() {
        let text = r#"{"ds": {"meta_data": {"placement": {"availability-zone-id": "euc1-az2"},
            "network": {"interfaces": {"macs": {"06:00": {
                "subnet-ipv4-cidr-block": "10.0.16.0/20", "vpc-ipv4-cidr-blocks": ["10.0.0.0/16",
                "10.9.0.0/24"], "subnet-ipv6-cidr-blocks": "2001:db8:0:1::/64"}}}}}}}"#;
        let hint = |address: &str| with(text, |root| zone_hint(root, address.parse().unwrap()));
        for own in ["10.0.16.0", "10.0.31.255", "2001:db8:0:1::7", "::ffff:10.0.16.9"] {
            let hint = hint(own).unwrap();
            assert!(hint.contains("so in its zone, euc1-az2"), "{own}: {hint}");
        }
        for near in ["10.0.32.0", "10.0.15.255", "10.9.0.1"] {
            let hint = hint(near).unwrap();
            assert!(hint.contains("in another subnet"), "{near}: {hint}");
        }
        for foreign in ["10.9.1.1", "192.0.2.1", "2001:db8:0:2::7", "::"] {
            assert_eq!(hint(foreign), None, "{foreign}");
        }
        let none = with("{}", |root| zone_hint(root, "10.0.16.1".parse().unwrap()));
        assert_eq!(none, None);
    }

    #[test]
    fn what_is_no_network_contains_nothing() {
        let address = "10.0.0.1".parse().unwrap();
        for text in ["10.0.0.1", "10.0.0.0/33", "/8", "ten/8", "10.0.0.0/x"] {
            assert_eq!(contains(text, address), None, "{text}");
        }
        assert_eq!(contains("0.0.0.0/0", address), Some(true));
        assert_eq!(contains("::/0", address), Some(false));
    }

    #[test]
    fn aws_says_type_zone_and_group() {
        let read = read(
            r#"{"v1": {"availability_zone": "eu-central-1a", "cloud_name": "aws"}, "ds": {"meta_data":
            {"instance-type": "c7i.large", "placement": {"availability-zone": "eu-central-1a",
            "availability-zone-id": "euc1-az2", "group-name": "arm-7"}}}}"#,
        );
        let text = |text: &str| Some(text.to_owned());
        assert_eq!((read.instance_type, read.zone), (text("c7i.large"), text("eu-central-1a")));
        assert_eq!((read.zone_id, read.placement_group), (text("euc1-az2"), text("arm-7")));
    }

    #[test]
    fn nothing_is_made_up() {
        assert_eq!(read("{}"), Instance::default());
        assert_eq!(read("no JSON"), Instance::default());
        assert_eq!(read(r#"{"v1": {"availability_zone": null}}"#), Instance::default());
    }
}
