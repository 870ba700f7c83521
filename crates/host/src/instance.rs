//! The cloud instance, from the file of cloud-init. Every user can read it, so there is no need to
//! ask the metadata service.

use crate::root::Root;
use record::instance::Instance;
use serde_json::Value;

const FILE: &str = "run/cloud-init/instance-data.json";

/// The instance; empty without cloud-init.
pub(crate) fn instance(root: &Root) -> Instance {
    let text = root.read(FILE).unwrap_or_default();
    let data: Value = serde_json::from_str(&text).unwrap_or_default();
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
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("run/cloud-init")).unwrap();
        std::fs::write(root.path().join(FILE), text).unwrap();
        instance(&Root::at(root.path()))
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
