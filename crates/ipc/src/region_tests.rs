//! Creating and opening regions, with invalid ones; no files are left behind.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

use tempfile::TempDir;

use super::*;

const GEOMETRY: [u64; GEOMETRY_WORDS] = [1, 2, 3, 4, 5, 6, 7, 8];

fn folder_with(name: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

fn create(path: &Path) -> Result<Region, IpcError> {
    Region::create(RegionBacking::File(path), RegionKind::Ring, GEOMETRY, 1000, |_| {})
}

fn names(folder: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn what_one_mapping_writes_the_other_reads() {
    let (folder, path) = folder_with("region");
    let region = create(&path).unwrap();
    let other = Region::open(&path, RegionKind::Ring).unwrap();
    assert_eq!((other.geometry(), other.body_bytes()), (&GEOMETRY, 1000));
    assert!(other.words().iter().all(|word| word.load(Relaxed) == 0));
    region.words()[124].store(7, Relaxed);
    assert_eq!(other.words()[124].load(Relaxed), 7);
    assert_eq!(names(&folder), ["region"]);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// Checks the header's table, because it is a format between processes.
#[test]
fn the_header_is_what_its_table_says() {
    let (_folder, path) = folder_with("region");
    create(&path).unwrap();
    let bytes = std::fs::read(path).unwrap();
    let word = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
    let half = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(&bytes[..8], b"TICKPIPC");
    assert_eq!((half(8), half(12), word(16)), (VERSION, RegionKind::Ring as u32, 1128));
    assert_eq!(bytes.len(), 1128);
    assert!((0..8).all(|i| word(24 + 8 * i) == GEOMETRY[i]));
    assert!(bytes[88..120].iter().all(|&byte| byte == 0));
}

#[test]
fn what_exists_is_left_alone() {
    let (folder, path) = folder_with("region");
    std::fs::write(&path, b"precious").unwrap();
    assert!(matches!(create(&path), Err(IpcError::Exists(at)) if at == path));
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    assert_eq!(names(&folder), ["region"]);
}

#[test]
fn it_is_not_visible_before_it_is_whole() {
    let (folder, path) = folder_with("region");
    let prepare = |region: &Region| {
        assert!(!path.exists());
        region.words()[0].store(1, Relaxed);
        // Another process is faster.
        std::fs::write(&path, b"other").unwrap();
    };
    let error =
        Region::create(RegionBacking::File(&path), RegionKind::Ring, GEOMETRY, 1000, prepare);
    assert!(matches!(error, Err(IpcError::Exists(_))));
    assert_eq!(std::fs::read(&path).unwrap(), b"other");
    assert_eq!(names(&folder), ["region"]);
}

#[test]
fn of_many_creators_one_wins() {
    let (folder, path) = folder_with("region");
    let created = std::thread::scope(|scope| {
        let creators: Vec<_> = (0..8).map(|_| scope.spawn(|| create(&path).is_ok())).collect();
        creators.into_iter().map(|creator| creator.join().unwrap()).filter(|&won| won).count()
    });
    assert_eq!(created, 1);
    assert_eq!(names(&folder), ["region"]);
}

/// The temporary file of a killed creator, whose process id the new creator has.
#[test]
fn a_left_temporary_file_is_no_obstacle() {
    let (_folder, path) = folder_with("region");
    let left = path.with_file_name(format!(".region.{}-0.new", std::process::id()));
    std::fs::write(left, b"").unwrap();
    create(&path).unwrap();
}

/// Changes each byte of the header: the error names the right fault.
#[test]
fn every_damaged_byte_of_the_header_is_noticed() {
    let (_folder, path) = folder_with("region");
    create(&path).unwrap();
    let good = std::fs::read(&path).unwrap();
    for at in 0..HEADER_BYTES {
        for change in [1, 0x80, 0xFF] {
            let mut bad = good.clone();
            bad[at] ^= change;
            std::fs::write(&path, &bad).unwrap();
            let error = Region::open(&path, RegionKind::Ring).unwrap_err();
            let as_expected = match at {
                0..8 => matches!(error, IpcError::Foreign { .. }),
                8..12 => matches!(error, IpcError::Version { .. }),
                _ => matches!(error, IpcError::Damaged { .. }),
            };
            assert!(as_expected, "byte {at}: {error}");
        }
    }
}

#[test]
fn a_file_of_another_length_is_rejected() {
    let (_folder, path) = folder_with("region");
    create(&path).unwrap();
    let good = std::fs::read(&path).unwrap();
    for length in [0, 1, 127, 128, 129, 1000, 1127, 1129, 9000] {
        let mut bad = good.clone();
        bad.resize(length, 0);
        std::fs::write(&path, &bad).unwrap();
        let error = Region::open(&path, RegionKind::Ring).unwrap_err();
        let as_expected = match length {
            0..128 => matches!(error, IpcError::Foreign { .. }),
            _ => matches!(error, IpcError::Length { stated: 1128, .. }),
        };
        assert!(as_expected, "{length}: {error}");
    }
}

/// Headers with a valid checksum but invalid content.
#[test]
fn an_invalid_header_is_rejected() {
    let stated = |bytes: u64| encode(RegionKind::Ring, &GEOMETRY, bytes);
    let mut other_kind = stated(HEADER_BYTES as u64);
    other_kind[12] = 99;
    for (header, file_bytes) in [
        (stated(HEADER_BYTES as u64 + 4), HEADER_BYTES as u64 + 4),
        (stated(REGION_BYTES_MAX + 8), REGION_BYTES_MAX + 8),
        (crate::header::sealed(other_kind), HEADER_BYTES as u64),
    ] {
        let error = decode("it", &header, file_bytes, RegionKind::Ring).unwrap_err();
        assert!(matches!(error, IpcError::Damaged { .. }), "{error}");
    }
}

#[test]
fn other_files_are_rejected_with_their_kind() {
    let (folder, path) = folder_with("region");
    create(&path).unwrap();
    let of_kind = Region::open(&path, RegionKind::Distributor).unwrap_err();
    let kinds = (RegionKind::Ring, RegionKind::Distributor);
    assert!(matches!(of_kind, IpcError::Kind { found, wanted, .. } if (found, wanted) == kinds));
    assert!(Region::open(folder.path(), RegionKind::Ring).is_err());
    assert!(Region::open(&folder.path().join("none"), RegionKind::Ring).is_err());
    assert!(Region::open(Path::new("/dev/null"), RegionKind::Ring).is_err());
    assert!(create(&folder.path().join("none/region")).is_err());
    assert!(create(Path::new("/")).is_err());
}

/// An emulator may not support sealing.
#[test]
fn a_memfd_can_be_neither_shrunk_nor_grown() {
    let made = Region::create(RegionBacking::Memory, RegionKind::Ring, GEOMETRY, 1000, |_| {});
    let region = match made {
        Ok(region) => region,
        Err(IpcError::System { doing: "seal", source, .. }) => {
            testing::skip!(Kernel, "this kernel seals no memory files: {source}");
        }
        Err(e) => panic!("{e}"),
    };
    for bytes in [0, 1 << 20] {
        let changed = fs::ftruncate(region.fd(), bytes);
        assert_eq!(changed, Err(rustix::io::Errno::PERM));
    }
    let other =
        Region::from_fd(region.fd().try_clone_to_owned().unwrap(), RegionKind::Ring).unwrap();
    other.words()[5].store(9, Relaxed);
    assert_eq!(region.words()[5].load(Relaxed), 9);
}

/// More than the whole tmpfs: an error at once, no SIGBUS later, no files left behind.
#[test]
fn a_full_file_system_is_an_error() {
    const TMPFS_MAGIC: u64 = 0x0102_1994;
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
        testing::skip!(Kernel, "no /dev/shm");
    };
    let all = fs::statfs(folder.path()).unwrap();
    let bytes = all.f_blocks * all.f_bsize as u64;
    if all.f_type as u64 != TMPFS_MAGIC || bytes == 0 || bytes >= REGION_BYTES_MAX {
        testing::skip!(
            Kernel,
            "/dev/shm is not a tmpfs with a limit below {REGION_BYTES_MAX} bytes"
        );
    }
    let place = folder.path().join("region");
    let error =
        Region::create(RegionBacking::File(&place), RegionKind::Ring, GEOMETRY, bytes, |_| {});
    assert!(matches!(error, Err(IpcError::NoRoom { .. })), "{error:?}");
    assert!(names(&folder).is_empty());
    let error = Region::create(RegionBacking::Memory, RegionKind::Ring, GEOMETRY, u64::MAX, |_| {});
    assert!(matches!(error, Err(IpcError::Shape { .. })), "{error:?}");
}

#[test]
fn a_file_that_cannot_be_allocated_is_written_through() {
    let file = tempfile::tempfile().unwrap();
    crate::new_file::write_zeros(&file, 200_001).unwrap();
    assert_eq!(file.metadata().unwrap().len(), 200_001);
}

#[test]
fn a_role_is_seen_by_others_until_it_is_given_back() {
    let (_folder, path) = folder_with("region");
    let region = create(&path).unwrap();
    let other = Region::open(&path, RegionKind::Ring).unwrap();
    let claim = region.claim(3, "tester").unwrap();
    for region in [&region, &other] {
        assert!(region.is_claimed(3).unwrap());
        assert!(!region.is_claimed(2).unwrap());
        assert!(region.try_claim(3).unwrap().is_none());
        let error = region.claim(3, "tester").unwrap_err();
        assert!(matches!(error, IpcError::Claimed { role: "tester", .. }));
    }
    drop(claim);
    assert!(!other.is_claimed(3).unwrap());
    other.claim(3, "tester").unwrap();
}
