//! QuickFIX's dictionary of all of FIX 4.4 as the judge of ours. Its licence is its own, so it is
//! not in this repository: `make peers` unpacks it.

use fix::dictionary::Dictionary;
use fix::encode::seal;
use fix::message::{Message, split};
use std::path::Path;

#[test]
fn the_standard_dictionary_loads_and_has_ours() {
    let path = "../../clients/java-fix/target/standard/FIX44.xml";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let Ok(xml) = std::fs::read_to_string(&path) else {
        testing::skip!(JavaPeers, "no {}", path.display());
    };
    let standard = Dictionary::load(&xml).expect("the standard dictionary");
    assert!(standard.messages().len() > 80, "{} messages", standard.messages().len());
    let ours = Dictionary::tickpath();
    for message in ours.messages() {
        let theirs = standard.message(message.msg_type.as_bytes()).expect("a standard message");
        assert_eq!((&message.name, message.is_admin), (&theirs.name, theirs.is_admin));
        // A message that is valid by ours is so by theirs, user-defined fields apart.
        for member in message.members.iter().filter(|member| member.tag < 5000) {
            assert!(theirs.members.iter().any(|other| other.tag == member.tag), "{}", member.tag);
            let (field, other) = (ours.field(member.tag), standard.field(member.tag));
            let name_and_kind = |field: Option<&fix::dictionary::FieldDef>| {
                field.map(|field| (field.name.clone(), field.kind))
            };
            assert_eq!(name_and_kind(field), name_and_kind(other), "tag {}", member.tag);
        }
    }
    let body = "35=D|49=A|56=B|34=2|52=20240101-00:00:00|11=a|453=1|448=x|447=D|452=1|55=BTC|\
                54=1|60=20240101-00:00:00|38=1|40=1|";
    let mut bytes = Vec::new();
    seal(&mut bytes, b"FIX.4.4", body.replace('|', "\x01").as_bytes());
    for dictionary in [&ours, &standard] {
        let mut fields = Vec::new();
        split(&bytes, |tag| dictionary.data_of(tag), &mut fields).expect("fields");
        assert_eq!(dictionary.check(Message::new(&bytes, &fields)), Ok(()));
    }
}
