use super::*;
use crate::encode::seal;
use crate::message::{Fault, Message, split};
use crate::reject_reason::RejectReason;

const SMALL: &str = r#"<fix type="FIX" major="4" minor="4">
<header><field name="BeginString" required="Y"/><field name="BodyLength" required="Y"/>
<field name="MsgType" required="Y"/></header>
<messages><message name="M" msgtype="M" msgcat="app">
 <field name="Text" required="N"/><component name="Parties" required="N"/>
 <field name="Side" required="Y"/><field name="RawDataLength" required="N"/>
 <field name="RawData" required="N"/><field name="ExecInst" required="N"/>
</message></messages>
<trailer><field name="CheckSum" required="Y"/></trailer>
<components><component name="Parties"><group name="NoPartyIDs" required="N">
 <field name="PartyID" required="N"/><field name="PartyRole" required="N"/>
 <group name="NoPartySubIDs" required="N"><field name="PartySubID" required="Y"/>
 <field name="PartySubIDType" required="N"/></group>
</group></component></components>
<fields>
 <field number="8" name="BeginString" type="STRING"/><field number="9" name="BodyLength" type="LENGTH"/>
 <field number="10" name="CheckSum" type="STRING"/><field number="35" name="MsgType" type="STRING"/>
 <field number="54" name="Side" type="CHAR"><value enum="1" description="BUY"/>
  <value enum="2" description="SELL"/></field>
 <field number="18" name="ExecInst" type="MULTIPLEVALUESTRING"><value enum="1" description="A"/>
  <value enum="6" description="B"/></field>
 <field number="58" name="Text" type="STRING"/><field number="95" name="RawDataLength" type="LENGTH"/>
 <field number="96" name="RawData" type="DATA"/><field number="453" name="NoPartyIDs" type="NUMINGROUP"/>
 <field number="448" name="PartyID" type="STRING"/><field number="452" name="PartyRole" type="INT"/>
 <field number="802" name="NoPartySubIDs" type="NUMINGROUP"/>
 <field number="523" name="PartySubID" type="STRING"/>
 <field number="803" name="PartySubIDType" type="INT"/><field number="1" name="Account" type="STRING"/>
</fields></fix>"#;

fn check(dictionary: &Dictionary, body: &str) -> Result<(), Fault> {
    let mut bytes = Vec::new();
    seal(&mut bytes, b"FIX.4.4", body.replace('|', "\x01").as_bytes());
    let mut fields = Vec::new();
    split(&bytes, |tag| dictionary.data_of(tag), &mut fields)?;
    dictionary.check(Message::new(&bytes, &fields))
}

#[test]
fn case_14_of_the_session_layer() {
    let dictionary = Dictionary::load(SMALL).expect("a dictionary");
    assert_eq!(dictionary.begin_string(), "FIX.4.4");
    let good = [
        "35=M|54=1|",
        "35=M|54=2|58=x|95=3|96=a|b|18=1 6|",
        "35=M|453=2|448=a|452=1|448=b|802=2|523=x|803=1|523=y|54=1|",
        "35=M|453=0|54=1|",
    ];
    for body in good {
        assert_eq!(check(&dictionary, body), Ok(()), "{body}");
    }
    let bad = [
        ("35=Q|54=1|", 35, RejectReason::InvalidMsgType),
        ("35=M|54=1|9999=1|", 9999, RejectReason::InvalidTag),
        ("35=M|58=x|", 54, RejectReason::RequiredTagMissing),
        ("35=M|54=1|1=x|", 1, RejectReason::NotOfThisMessage),
        ("35=M|54=|", 54, RejectReason::NoValue),
        ("35=M|54=3|", 54, RejectReason::ValueIncorrect),
        ("35=M|54=1|18=1 2|", 18, RejectReason::ValueIncorrect),
        ("35=M|54=12|", 54, RejectReason::IncorrectFormat),
        ("35=M|54=1|453=x|", 453, RejectReason::IncorrectFormat),
        ("35=M|54=1|9=5|", 9, RejectReason::OutOfOrder),
        ("35=M|54=1|54=1|", 54, RejectReason::Repeated),
        ("35=M|453=2|448=a|54=1|", 453, RejectReason::WrongGroupCount),
        ("35=M|453=1|448=a|448=b|54=1|", 453, RejectReason::WrongGroupCount),
        ("35=M|453=1|452=1|448=a|54=1|", 452, RejectReason::GroupOutOfOrder),
        ("35=M|453=1|448=a|802=1|523=x|452=1|54=1|", 452, RejectReason::GroupOutOfOrder),
        ("35=M|453=1|448=a|802=2|523=x|54=1|", 802, RejectReason::WrongGroupCount),
        ("35=M|453=1|448=a|452=1|452=1|54=1|", 452, RejectReason::Repeated),
        ("35=M|453=1|448=a|452=x|54=1|", 452, RejectReason::IncorrectFormat),
    ];
    for (body, tag, reason) in bad {
        assert_eq!(check(&dictionary, body), Err(Fault { tag, reason }), "{body}");
    }
}

#[test]
fn a_dictionary_that_is_none_says_where() {
    let cases = [
        ("<fix", "not XML"),
        ("<fax/>", "line 1: the outermost element is not <fix>"),
        ("<fix major='4' minor='4'>\n</fix>", "line 1: there is no <fields>"),
        (&SMALL.replace("component name=\"Parties\" ", "component name=\"Other\" "), "line 5"),
        (&SMALL.replace("<field name=\"Side\"", "<field name=\"Sides\""), "line 6: no such field"),
    ];
    for (xml, wanted) in cases {
        let error = Dictionary::load(xml).expect_err("no dictionary").to_string();
        assert!(error.contains(wanted), "{error}, not {wanted}");
    }
}

/// A few lines of XML would otherwise take hours and all memory.
#[test]
fn components_that_contain_themselves_or_double_end() {
    let itself = SMALL.replace(
        "<group name=\"NoPartyIDs\"",
        "<component name=\"Parties\"/><group name=\"NoPartyIDs\"",
    );
    let error = Dictionary::load(&itself).expect_err("too deep").to_string();
    assert!(error.contains("too deep"), "{error}");
    let twice = |n: usize| {
        format!(
            "<component name='C{n}'>{}</component>",
            format!("<component name='C{}'/>", n + 1).repeat(16)
        )
    };
    let doubling: String = (0..12).map(twice).collect();
    let doubling = SMALL
        .replace("<components>", &format!("<components>{doubling}<component name='C12'/>"))
        .replace("<component name=\"Parties\" ", "<component name=\"C0\" ");
    let error = Dictionary::load(&doubling).expect_err("too many").to_string();
    assert!(error.contains("too many members"), "{error}");
}

#[test]
fn what_ships_loads_and_lets_each_message_have_its_required_fields() {
    let dictionary = Dictionary::tickpath();
    assert_eq!(dictionary.begin_string(), "FIX.4.4");
    assert_eq!(dictionary.data_of(95), Some(96));
    for message in dictionary.messages() {
        for member in message.members.iter() {
            assert!(dictionary.field(member.tag).is_some(), "{} {}", message.name, member.tag);
        }
    }
}
